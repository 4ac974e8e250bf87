//! `dlock run` with several locks.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::time::Duration;

use serde_json::Value;

use crate::support::{ALONE, Scene, Stopwatch, stores::assert_ended, until};

const SOON: Duration = Duration::from_secs(60);

fn held(scene: &Scene, name: &str) {
    let acquired = scene.finish(["acquire", name, "--lease", "1h", "--owner", "web 1"]);
    assert_ended(&acquired, 0, "");
}

fn state(scene: &Scene, name: &str) -> String {
    let shown = scene.finish(["status", name, "--json"]);
    let record: Value = serde_json::from_str(&shown.out).unwrap();
    record["state"].as_str().unwrap().to_owned()
}

#[test]
fn command_runs_under_all_of_them_and_knows_their_tokens() {
    let scene = Scene::new();
    let script = r#"echo "$DLOCK_NAME $DLOCK_TOKEN"; printf %s "$DLOCK_TOKENS"
        for name in a b "c d"; do
            "$DLOCK" run "$name" --no-wait -- true
            echo "$name $?"
        done"#;
    let finished = scene.finish(["run", "c d", "b", "a", "--", "sh", "-c", script]);
    assert_eq!(finished.code(), 0, "{finished:?}");
    let lines: Vec<&str> = finished.out.lines().collect();
    let tokens: Vec<(&str, &str)> = lines[1..4]
        .iter()
        .map(|line| line.split_once(' ').unwrap())
        .collect();
    let names: Vec<&str> = tokens.iter().map(|(_, name)| *name).collect();
    assert_eq!(names, ["a", "b", "c d"]);
    assert_eq!(lines[0], format!("c d {}", tokens[2].0));
    assert_eq!(lines[4..], ["a 75", "b 75", "c d 75"]);
    for (token, name) in tokens {
        let shown = scene.finish(["status", name, "--json"]).out;
        let record: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(record["token"].to_string(), token, "{record}");
        assert_eq!(record["state"], "released");
    }
}

#[test]
fn one_that_is_not_to_be_had_leaves_the_others_free() {
    let scene = Scene::new();
    held(&scene, "b");
    let words = ["run", "c", "a", "b", "--at-least", "1h", "-c", "true"];
    for patience in ["-n", "-w=7.5"] {
        let refused = scene.finish([&words[..], &[patience]].concat());
        assert_ended(&refused, 75, "the lock \"b\" is held by web 1");
        assert_eq!(state(&scene, "a"), "released", "{patience}");
        // It was never requested.
        assert_ended(&scene.finish(["status", "c"]), 1, "it was never held");
    }
    let watch = Stopwatch::start();
    let waiter = scene.start(scene.dlock(["run", "a", "b", "-w", "3", "-c", "true"]));
    // The time is for all of them together.
    assert_ended(&waiter.finish(SOON), 75, "");
    assert!(watch.elapsed() >= Duration::from_secs(3));
}

#[test]
fn runs_that_name_them_in_any_order_take_turns() {
    let scene = Scene::new();
    let script = format!(r#"{ALONE} echo in >> "$T/trace"; sleep 0.1"#);
    let orders = [
        ["a", "b", "c"],
        ["c", "b", "a"],
        ["b", "c", "a"],
        ["c", "a", "b"],
    ];
    let runs: Vec<_> = orders
        .iter()
        .cycle()
        .take(8)
        .map(|names| {
            let mut command = scene.dlock(["run"]);
            command.args(names).args(["--", "sh", "-c", &script]);
            scene.start(command)
        })
        .collect();
    for run in runs {
        assert_ended(&run.finish(SOON), 0, "");
    }
    assert_eq!(scene.trace(), ["in"; 8]);
}

#[test]
fn loss_of_one_is_the_loss_of_all() {
    let scene = Scene::new();
    let mut command = scene.dlock(["run", "a", "b", "--lease", "12s", "--", "sh", "-c"]);
    command.arg(format!(
        r#"{ALONE} trap '' TERM; echo in >> "$T/trace"; while :; do sleep 0.05 9>&-; done"#
    ));
    let runner = scene.start(command);
    scene.await_trace("in");
    let released = until("a release between two renewals", || {
        let released = scene.finish(["release", "b"]);
        (released.code() != 75).then_some(released)
    });
    assert_ended(&released, 0, "");
    assert_ended(&runner.finish(SOON), 80, "was taken away");
    assert!(scene.nobody_is_alone());
    assert_eq!(state(&scene, "a"), "released");
}

/// The locks that a run has are renewed while it waits for the rest, and are released if one is
/// lost.
#[test]
fn lock_is_kept_while_another_one_is_waited_for() {
    let scene = Scene::new();
    held(&scene, "b");
    let mut waiter = scene.start(scene.dlock(["run", "a", "b", "--lease", "15s", "-c", "true"]));
    waiter.await_err("waiting for \"b\", held by web 1");
    let renewals = || {
        let shown = scene.finish(["status", "a", "--json"]).out;
        serde_json::from_str::<Value>(&shown).unwrap()["renewals"]
            .as_u64()
            .unwrap()
    };
    until("renewals", || (renewals() >= 2).then_some(()));
    let released = until("a release between two renewals", || {
        let released = scene.finish(["release", "a"]);
        (released.code() != 75).then_some(released)
    });
    assert_ended(&released, 0, "");
    assert_ended(
        &waiter.finish(SOON),
        80,
        "another lock was lost while waiting for \"b\"",
    );
}

#[test]
fn lock_that_is_named_twice_is_a_mistake() {
    let scene = Scene::new();
    let refused = scene.finish(["run", "a", "b", "a", "--", "true"]);
    assert_ended(&refused, 64, "\"a\" is named twice");
    assert_ended(&scene.finish(["run", "--", "true"]), 64, "NAME");
    assert!(!scene.path("locks.db").exists());
}
