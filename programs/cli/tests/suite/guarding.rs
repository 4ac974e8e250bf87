//! The fate of the command when `dlock run`, its guard or both are killed or stopped.

use std::{process::Command, time::Duration};

use crate::support::{ALONE, DLOCK, Scene, Stopwatch, is_gone, signal, until};
use rustix::process::{Signal, getuid};

/// A command with a child and a grandchild in its group.
fn family() -> String {
    format!(
        r#"{ALONE} echo "token $DLOCK_TOKEN" >> "$T/trace"
        sh -c 'sleep 61 & wait' &
        trap '' TERM HUP INT
        echo "leader $$" >> "$T/trace"
        wait; sleep 62"#
    )
}

fn number(text: &str) -> u64 {
    text.parse()
        .unwrap_or_else(|_| panic!("not a number: {text:?}"))
}

#[test]
fn kill_of_dlock_run_ends_its_command_at_once_and_lets_the_waiter_in_when_the_lease_ends() {
    let scene = Scene::new();
    let holder = scene.run(&["--lease", "1h"], &family());
    let first = number(&scene.await_trace("token"));
    scene.await_trace("leader");
    let second = r#"echo "second $DLOCK_TOKEN" >> "$T/trace""#;
    let mut waiter = scene.run(&[], &format!("{ALONE} {second}"));
    waiter.await_err("waiting for");

    holder.signal(Signal::KILL);
    // Not by the end of the lease, which is an hour away.
    until("the end of the command's whole group", || {
        scene.nobody_is_alone().then_some(())
    });
    assert!(waiter.is_running());
    scene.end_lease("lock");
    assert!(number(&scene.await_trace("second")) > first);
    assert_eq!(waiter.code(), 0);
    until("the end of the guard", || {
        scene.processes().is_empty().then_some(())
    });
}

#[test]
fn kill_of_dlock_run_at_any_moment_of_its_start_leaves_no_command() {
    let scene = Scene::new();
    let watch = Stopwatch::start();
    let whole = scene.run(&["--lease", "1h"], r#"echo in >> "$T/trace"; sleep 63"#);
    scene.await_trace("in");
    let start = watch.elapsed();
    drop(whole);
    for step in 0..40 {
        // A separate lock for each, and an hour: nothing else lets the guard know that the command must end.
        let mut command = scene.dlock(["run", &format!("lock-{step}"), "--lease", "1h"]);
        command.args(["--", "sh", "-c", "sleep 63 & sleep 63"]);
        let holder = scene.start(command);
        std::thread::sleep(start * step / 36);
        holder.signal(Signal::KILL);
        drop(holder);
        until("the end of everything", || {
            scene.processes().is_empty().then_some(())
        });
    }
}

#[test]
fn stopped_dlock_run_has_no_command_left_when_the_waiter_starts() {
    let scene = Scene::new();
    let holder = scene.run(&["--lease", "15s"], &family());
    scene.await_trace("leader");
    let mut waiter = scene.run(&[], &format!(r#"{ALONE} echo in >> "$T/trace""#));
    waiter.await_err("waiting for");
    holder.signal(Signal::STOP);
    // TERM is ignored, so it gets KILL, from the guard, while dlock run is stopped.
    scene.await_trace("in");
    assert_eq!(waiter.code(), 0);
    assert!(!scene.trace().contains(&"OVERLAP".to_owned()));
    holder.signal(Signal::CONT);
    let holder = holder.finish(Duration::from_secs(20));
    assert_eq!(holder.code(), 80, "{holder:?}");
}

#[test]
fn command_of_a_stopped_dlock_run_gets_term_before_kill() {
    let scene = Scene::new();
    let holder = scene.run(
        &["--lease", "20s", "--grace", "5s"],
        r#"trap 'echo asked >> "$T/trace"; exit 0' TERM; echo in >> "$T/trace"; while :; do sleep 0.02; done"#,
    );
    scene.await_trace("in");
    holder.signal(Signal::STOP);
    scene.await_trace("asked");
    holder.signal(Signal::CONT);
    // It ended cleanly, but because it had to.
    assert_eq!(holder.code(), 80);
}

#[test]
fn short_stop_of_dlock_run_harms_nothing() {
    let scene = Scene::new();
    let script = r#"echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.05; done; exit 7"#;
    let holder = scene.run(&["--lease", "15s"], script);
    scene.await_trace("in");
    for _ in 0..3 {
        holder.signal(Signal::STOP);
        until("dlock run to stop", || {
            (crate::support::seen(holder.id())?.state == 'T').then_some(())
        });
        holder.signal(Signal::CONT);
    }
    scene.await_renewal();
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(holder.code(), 7);
}

#[test]
fn command_does_not_outlive_its_guard() {
    let scene = Scene::new();
    let holder = scene.run(&["--lease", "1h"], &family());
    scene.await_trace("leader");
    let [guard] = &scene.guards()[..] else {
        panic!("{:?}", scene.processes())
    };
    signal(guard.id, Signal::KILL);
    until("the end of the command", || {
        scene.nobody_is_alone().then_some(())
    });
    let holder = holder.finish(Duration::from_secs(20));
    assert_eq!(holder.code(), 80, "{holder:?}");
    assert!(holder.err.contains("guard"), "{holder:?}");
    // dlock run itself was well, so the lock is free.
    assert_eq!(
        scene
            .finish(["run", "lock", "--no-wait", "--", "true"])
            .code(),
        0
    );
}

/// The guard of a run that was just started, as soon as it exists; `None` if the run ended before the guard
/// was seen.
fn newborn_guard(run: &mut crate::support::Process) -> Option<i32> {
    let children = format!("/proc/{0}/task/{0}/children", run.id());
    let watch = Stopwatch::start();
    loop {
        // No pause: the moment we look for is short.
        let children = std::fs::read_to_string(&children).unwrap_or_default();
        let first = children.split(' ').next().and_then(|id| id.parse().ok());
        if let Some(guard) = first.and_then(crate::support::seen)
            && guard.name != "dlock"
            && guard.name != "env"
        {
            return Some(guard.id);
        }
        if !run.is_running() {
            return None;
        }
        assert!(watch.elapsed() < Duration::from_secs(20), "no guard");
    }
}

/// Whether this guard has its anchor: it reports that it is ready right after that.
fn has_anchor(guard: i32) -> bool {
    let children = std::fs::read_to_string(format!("/proc/{guard}/task/{guard}/children"));
    children.is_ok_and(|children| !children.is_empty())
}

#[test]
fn command_does_not_start_before_its_guard_is_ready() {
    let scene = Scene::new();
    // It takes some luck to stop the guard between its start and its being ready. Where it was ready, or had
    // ended, nothing follows; where it was not, the command must not start.
    let mut caught = 0;
    for _ in 0..200 {
        let mut run = scene.run(&[], r#"echo in >> "$T/trace""#);
        if let Some(guard) = newborn_guard(&mut run) {
            signal(guard, Signal::STOP);
            let state = || crate::support::seen(guard).map(|guard| guard.state);
            until("the guard stands still or is over", || {
                matches!(state(), Some('T' | 'Z' | 'X') | None).then_some(())
            });
            let unready = state() == Some('T') && scene.trace().is_empty() && !has_anchor(guard);
            std::thread::sleep(Duration::from_millis(100));
            let started = !scene.trace().is_empty();
            signal(guard, Signal::CONT);
            assert!(
                !(unready && started),
                "it started before its guard was ready"
            );
            caught += usize::from(unready);
        }
        assert_eq!(run.code(), 0);
        assert_eq!(scene.trace(), ["in"]);
        std::fs::remove_file(scene.path("trace")).unwrap();
        if caught == 3 {
            return;
        }
    }
    panic!("of 200 guards {caught} were stopped before they were ready, and 3 would be enough");
}

#[test]
fn stopped_guard_does_not_keep_the_command_alive() {
    let scene = Scene::new();
    let holder = scene.run(&["--lease", "15s"], &family());
    scene.await_trace("leader");
    let [guard] = &scene.guards()[..] else {
        panic!("{:?}", scene.processes())
    };
    signal(guard.id, Signal::STOP);
    let store = scene.open_store();
    store.execute_batch("BEGIN EXCLUSIVE").unwrap();
    until("the end of the command", || {
        scene.nobody_is_alone().then_some(())
    });
    drop(store);
    let holder = holder.finish(Duration::from_secs(20));
    assert_eq!(holder.code(), 80, "{holder:?}");
}

#[test]
fn guard_takes_no_notice_of_any_signal_but_the_last() {
    let scene = Scene::new();
    let script = r#"echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.05; done; exit 7"#;
    let holder = scene.run(&[], script);
    scene.await_trace("in");
    let [guard] = &scene.guards()[..] else {
        panic!("{:?}", scene.processes())
    };
    let mut sent = 0;
    for number in [
        Signal::HUP,
        Signal::INT,
        Signal::QUIT,
        Signal::TERM,
        Signal::USR1,
        Signal::TSTP,
        Signal::PIPE,
    ] {
        signal(guard.id, number);
        sent |= 1_u64 << (number.as_raw() - 1);
    }
    // Each of them waits forever.
    let status = std::fs::read_to_string(format!("/proc/{}/status", guard.id)).unwrap();
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    let pending = u64::from_str_radix(pending.unwrap().trim(), 16).unwrap();
    assert_eq!(pending & sent, sent, "{status}");
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(holder.code(), 7);
}

#[test]
fn kill_of_dlock_run_and_its_guard_together_still_ends_the_command_itself() {
    let scene = Scene::new();
    let script = r#"echo "leader $$" >> "$T/trace"; exec sleep 640"#;
    let holder = scene.run(&["--lease", "1h"], script);
    let leader = i32::try_from(number(&scene.await_trace("leader"))).unwrap();
    let [guard] = &scene.guards()[..] else {
        panic!("{:?}", scene.processes())
    };
    // Neither has the time to notice the death of the other. (A guard that is merely stopped would be
    // continued by the kernel when its parent dies.)
    holder.signal(Signal::STOP);
    signal(guard.id, Signal::KILL);
    holder.signal(Signal::KILL);
    until("the end of the command", || is_gone(leader).then_some(()));
}

#[test]
fn a_zombie_of_the_guard_keeps_the_number_of_the_group() {
    let scene = Scene::new();
    let holder = scene.run(&[], r#"echo "leader $$" >> "$T/trace"; sleep 30"#);
    let leader = i32::try_from(number(&scene.await_trace("leader"))).unwrap();
    let [guard] = &scene.guards()[..] else {
        panic!("{:?}", scene.processes())
    };
    let children = format!("/proc/{0}/task/{0}/children", guard.id);
    let children = std::fs::read_to_string(children).unwrap();
    let anchor: i32 = children.trim().parse().unwrap();
    until("the anchor to be a zombie", || {
        let anchor = crate::support::seen(anchor).unwrap();
        assert_eq!(anchor.group, leader);
        (anchor.state == 'Z').then_some(())
    });
    drop(holder);
}

#[test]
fn guard_and_stub_do_not_look_like_dlock() {
    let scene = Scene::new();
    let holder = scene.run(&[], r#"echo in >> "$T/trace"; sleep 30"#);
    scene.await_trace("in");
    let [guard] = &scene.guards()[..] else {
        panic!("{:?}", scene.processes())
    };
    let line = std::fs::read_to_string(format!("/proc/{}/cmdline", guard.id)).unwrap();
    assert!(!line.contains("dlock"), "{line:?}");
    drop(holder);
}

/// As process 1 of a container, it inherits the processes that the command leaves behind.
#[test]
fn first_process_of_a_container_reaps_orphans() {
    let scene = Scene::new();
    let script = r#"
        for n in 1 2 3; do (setsid sh -c 'echo $$ >> "$T/orphans"' &); done
        until [ "$(cat "$T/orphans" 2>&1 | grep -c '^[0-9]*$')" = 3 ]; do sleep 0.05; done
        for orphan in $(cat "$T/orphans"); do
            until [ ! -e "/proc/$orphan" ]; do sleep 0.05; done
        done
        exit 7"#;
    let contained = |program: &[&str]| {
        let mut command = Command::new("unshare");
        scene.adopt(&mut command);
        if !getuid().is_root() {
            command.arg("--map-root-user");
        }
        command.args(["--pid", "--fork", "--mount-proc"]);
        command.args(program);
        command
    };
    if !contained(&["true"]).status().unwrap().success() {
        eprintln!("not tested: this machine refuses to make a container");
        return;
    }
    for words in [&["run", "job", "--"][..], &["elect", "job", "--exec"]] {
        let mut command = contained(&["env", "--default-signal", DLOCK]);
        command.args(words).args(["sh", "-c", script]);
        let ended = scene.start(command).finish(Duration::from_secs(60));
        assert_eq!(ended.code(), 7, "{words:?}: {ended:?}");
        std::fs::remove_file(scene.path("orphans")).unwrap();
    }
}
