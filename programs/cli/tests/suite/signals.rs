//! Signals, without a terminal.

use std::process::Command;

use crate::support::{DLOCK, Scene, until};
use rustix::process::Signal;

#[test]
fn signals_are_passed_on_to_the_command() {
    let scene = Scene::new();
    for (name, number) in [
        ("INT", Signal::INT),
        ("TERM", Signal::TERM),
        ("HUP", Signal::HUP),
        ("QUIT", Signal::QUIT),
        ("USR1", Signal::USR1),
        ("USR2", Signal::USR2),
        ("WINCH", Signal::WINCH),
    ] {
        let script = format!(
            r#"trap 'exit 33' {name}; echo {name} >> "$T/trace"; while :; do sleep 0.02; done"#
        );
        let holder = scene.run(&[], &script);
        scene.await_trace(name);
        holder.signal(number);
        assert_eq!(holder.code(), 33, "{name}");
    }
}

/// A parent may have blocked them, for itself or by accident, and that is inherited. Otherwise only KILL could end a
/// waiting run or its command.
#[test]
fn signals_that_were_blocked_by_the_parent_end_a_run_all_the_same() {
    let scene = Scene::new();
    let run = || {
        let mut command = Command::new("env");
        scene.adopt(&mut command);
        let script = r#"echo in >> "$T/trace"; exec sleep 600"#;
        command.args(["--block-signal=TERM,INT,CHLD", DLOCK, "run", "lock"]);
        command.args(["--", "sh", "-c", script]);
        scene.start(command)
    };
    let holder = run();
    scene.await_trace("in");
    let mut waiter = run();
    waiter.await_err("waiting for \"lock\"");
    waiter.signal(Signal::TERM);
    assert_eq!(waiter.code(), 143);
    holder.signal(Signal::TERM);
    assert_eq!(holder.code(), 143);
}

#[test]
fn signals_reach_what_the_command_has_started_too() {
    let scene = Scene::new();
    let holder = scene.run(
        &[],
        r#"trap : TERM
        sh -c 'trap "echo heard >> $T/trace; exit" TERM; echo up >> $T/trace; while :; do sleep 0.02; done' &
        wait; wait; exit 33"#,
    );
    scene.await_trace("up");
    holder.signal(Signal::TERM);
    scene.await_trace("heard");
    assert_eq!(holder.code(), 33);
}

#[test]
fn command_without_a_trap_ends_by_the_signal_that_dlock_run_got() {
    let scene = Scene::new();
    for number in [Signal::INT, Signal::TERM, Signal::HUP, Signal::USR1] {
        let holder = scene.run(&[], r#"echo in >> "$T/trace"; exec sleep 60"#);
        scene.await_trace("in");
        std::fs::remove_file(scene.path("trace")).unwrap();
        holder.signal(number);
        assert_eq!(holder.code(), 128 + number.as_raw(), "{number:?}");
        assert_eq!(
            scene
                .finish(["run", "lock", "--no-wait", "--", "true"])
                .code(),
            0,
            "{number:?}"
        );
    }
}

#[test]
fn signal_that_was_ignored_stays_ignored() {
    let scene = Scene::new();
    let mut command = Command::new("sh");
    scene.adopt(&mut command);
    command.args([
        "-c",
        r#"trap '' HUP; exec "$DLOCK" run lock -- sh -c 'echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.05; done; exit 7'"#,
    ]);
    let holder = scene.start(command);
    scene.await_trace("in");
    // Neither handled nor passed on, and the command ignores it too.
    holder.signal(Signal::HUP);
    for process in scene.processes() {
        crate::support::signal(process.id, Signal::HUP);
    }
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(holder.code(), 7);
}

#[test]
fn signal_ends_the_waiting() {
    let scene = Scene::new();
    let holder = scene.run(&[], r#"echo in >> "$T/trace"; sleep 60"#);
    scene.await_trace("in");
    for number in [
        Signal::INT,
        Signal::TERM,
        Signal::HUP,
        Signal::QUIT,
        Signal::USR2,
    ] {
        let mut waiter = scene.run(&[], "touch never");
        waiter.await_err("waiting for");
        waiter.signal(number);
        assert_eq!(waiter.code(), 128 + number.as_raw());
    }
    // The lock was not touched.
    assert!(scene.status().contains("\"held\""));
    drop(holder);
}

#[test]
fn stopped_command_keeps_its_lock_and_goes_on_when_it_is_continued() {
    let scene = Scene::new();
    let holder = scene.run(
        &["--lease", "15s"],
        // It waits in the shell itself: a stop between the fork and the exec of another program
        // would leave a shell that shares its memory with the child neither running nor stopped.
        r#"mkfifo "$T/go"; echo "leader $$" >> "$T/trace"; read -r _ < "$T/go"; exit 7"#,
    );
    let leader: i32 = scene.await_trace("leader").parse().unwrap();
    holder.signal(Signal::TSTP);
    let state = |id| crate::support::seen(id).map(|process| process.state);
    until("the command to stop", || {
        (state(leader) == Some('T')).then_some(())
    });
    // This session has no job control, so dlock run does not stop, and renews.
    scene.await_renewal();
    assert_eq!(state(leader), Some('T'));
    holder.signal(Signal::CONT);
    std::fs::write(scene.folder().join("go"), "\n").unwrap();
    assert_eq!(holder.code(), 7);
}
