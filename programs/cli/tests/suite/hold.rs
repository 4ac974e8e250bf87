//! `dlock hold`, `dlock ask`, and the response of `dlock run` to a request for its lock.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Process, Scene,
    shell::Shell,
    stores::{TRY, assert_ended},
    tickets::holder_gives_back_when_asked,
    until,
};

const SOON: Duration = Duration::from_secs(60);

fn hold(scene: &Scene, options: &[&str]) -> Process {
    let mut command = scene.dlock(["hold", "lock"]);
    command.args(options);
    let holder = scene.start(command);
    until("the line that it is held", || {
        holder.out().contains('\n').then_some(())
    });
    holder
}

#[test]
fn holder_that_is_asked_gives_back() {
    holder_gives_back_when_asked(&Scene::new());
}

#[test]
fn signal_gives_the_lock_back_and_is_the_code() {
    let scene = Scene::new();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let holder = hold(&scene, &["--lease", "1h"]);
        assert_ended(&scene.finish(TRY), 75, "held by");
        holder.signal(signal);
        assert_ended(&holder.finish(SOON), code, "");
        assert_ended(&scene.finish(TRY), 0, "");
    }
    let holder = hold(&scene, &["--lease", "1h"]);
    let mut waiter = scene.start(scene.dlock(["hold", "lock"]));
    waiter.await_err("waiting for \"lock\", held by ");
    waiter.signal(Signal::TERM);
    let waiter = waiter.finish(SOON);
    assert_ended(&waiter, 143, "");
    assert_eq!(waiter.out, "");
    drop(holder);
}

#[test]
fn control_c_ends_it_like_any_program() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    shell.line(r#""$DLOCK" hold lock; echo co""de=$?."#);
    shell.expect("holding \"lock\" as ");
    shell.control('c');
    // The rest of the line is not run.
    shell.expect("ready> ");
    shell.line("echo co\"\"de=$?.");
    shell.expect_code(130);
    assert_ended(&scene.finish(TRY), 0, "");
}

#[test]
fn loss_is_80() {
    let scene = Scene::new();
    let holder = hold(&scene, &["--lease", "12s"]);
    let released = until("a release between two renewals", || {
        let released = scene.finish(["release", "lock"]);
        (released.code() != 75).then_some(released)
    });
    assert_ended(&released, 0, "");
    assert_ended(&holder.finish(SOON), 80, "is not held any more");
    // By force: it learns of it when it releases.
    let holder = hold(&scene, &["--lease", "1h"]);
    let force = ["release", "lock", "--force", "--yes"];
    assert_ended(&scene.finish(force), 0, "");
    assert_ended(&scene.finish(TRY), 0, "");
    holder.signal(Signal::TERM);
    assert_ended(&holder.finish(SOON), 80, "was not ours any more");
}

#[test]
fn question_changes_nothing_unless_the_holder_wants_to_hear_it() {
    let scene = Scene::new();
    let script = r#"echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.05; done; exit 7"#;
    let deaf = scene.run(&["--lease", "15s"], script);
    scene.await_trace("in");
    let asked = scene.finish(["ask", "lock", "--json"]);
    assert_ended(&asked, 0, "");
    let asked: Value = serde_json::from_str(&asked.out).unwrap();
    assert_eq!(
        (&asked["state"], &asked["asked"]),
        (&"held".into(), &true.into())
    );
    // The renewal whose answer carries the request, and the next one.
    scene.await_renewal();
    scene.await_renewal();
    std::fs::write(scene.path("go"), "").unwrap();
    assert_ended(&deaf.finish(SOON), 7, "");
}

#[test]
fn command_that_runs_until_it_is_asked_gets_term_and_then_the_lock_is_free() {
    let scene = Scene::new();
    let script = r#"trap 'echo bye >> "$T/trace"; exit' TERM; echo in >> "$T/trace"
        while :; do sleep 0.05; done"#;
    let runner = scene.run(&["--lease", "12s", "--until-asked"], script);
    scene.await_trace("in");
    assert_ended(&scene.finish(["ask", "lock"]), 0, "");
    assert_ended(&runner.finish(SOON), 80, "the lock was asked for");
    assert_eq!(scene.trace(), ["in", "bye"]);
    assert_ended(&scene.finish(TRY), 0, "");
}
