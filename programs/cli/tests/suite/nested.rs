//! `dlock run` inside the command of another one.

use std::time::Duration;

use crate::support::{Scene, stores::assert_ended};

const SOON: Duration = Duration::from_secs(60);

#[test]
fn lock_that_is_held_around_is_refused_at_once() {
    let scene = Scene::new();
    for options in [&[][..], &["--wait", "1h"], &["--no-wait"]] {
        let script = format!(
            r#"exec "$DLOCK" run lock {} -- touch "$T/never""#,
            options.join(" ")
        );
        let finished = scene.run(&[], &script).finish(SOON);
        assert_ended(&finished, 75, "held by a 'dlock' around this command");
    }
    for command in ["hold lock", "acquire lock", "elect lock"] {
        let script = format!(r#"exec "$DLOCK" {command}"#);
        let finished = scene.run(&[], &script).finish(SOON);
        assert_ended(&finished, 75, "held by a 'dlock' around this command");
    }
    // However many levels up it is.
    let far = r#"exec "$DLOCK" run other -- "$DLOCK" run lock -- touch "$T/never""#;
    let finished = scene.run(&[], far).finish(SOON);
    assert_ended(&finished, 75, "held by a 'dlock' around this command");
    // Through the command of another lock, too: its names are the last ones.
    let inner = r#"exec "$DLOCK" run other -- true"#;
    assert_ended(&scene.run(&[], inner).finish(SOON), 0, "");
    assert!(!scene.path("never").exists());
}

#[test]
fn leader_is_one_too() {
    let scene = Scene::new();
    let mut command = scene.dlock(["elect", "lock", "--exec", "sh", "-c"]);
    command.arg(r#"exec "$DLOCK" run lock -- true"#);
    assert_ended(
        &scene.start(command).finish(SOON),
        75,
        "around this command",
    );
}

/// A daemon that a run has left behind, a shell that was started under one.
#[test]
fn environment_of_a_run_that_has_ended_refuses_nothing() {
    let scene = Scene::new();
    let keep = r#"echo "token $DLOCK_TOKEN" >> "$T/trace""#;
    assert_ended(&scene.run(&[], keep).finish(SOON), 0, "");
    let token = scene.await_trace("token");
    let inherited = |arguments: &[&str]| {
        let mut command = scene.dlock(arguments);
        command.env("DLOCK_AROUND", format!("{token} lock\n"));
        scene.start(command)
    };
    // Free, and then held by another process.
    assert_ended(
        &inherited(&["run", "lock", "--", "true"]).finish(SOON),
        0,
        "",
    );
    let holder = scene.run(
        &[],
        r#"echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.02; done"#,
    );
    scene.await_trace("in");
    let mut waiter = inherited(&["run", "lock", "--", "true"]);
    waiter.await_err("waiting for \"lock\", held by ");
    assert!(std::fs::write(scene.path("go"), "").is_ok());
    assert_ended(&holder.finish(SOON), 0, "");
    assert_ended(&waiter.finish(SOON), 0, "");
}
