//! A store that disappears, and leases that are taken away.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::time::Duration;

use crate::support::{ALONE, Scene, until};
use rusqlite::Connection;

/// A connection that keeps all others from writing, until it is dropped.
fn lock_the_store(scene: &Scene) -> Connection {
    let connection = scene.open_store();
    connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    connection
}

#[test]
fn command_gets_term_before_kill_and_its_end_is_80() {
    let scene = Scene::new();
    let holder = scene.run(
        &["--lease", "20s", "--grace", "5s"],
        r#"trap 'echo asked >> "$T/trace"; exit 0' TERM; echo in >> "$T/trace"; while :; do sleep 0.02; done"#,
    );
    scene.await_trace("in");
    let store = lock_the_store(&scene);
    scene.await_trace("asked");
    let holder = holder.finish(Duration::from_secs(20));
    assert_eq!(holder.code(), 80, "{holder:?}");
    assert!(holder.err.contains("running out"), "{holder:?}");
    drop(store);
}

/// The command ignores TERM, so it is killed.
#[test]
fn waiter_enters_only_after_the_command_of_a_holder_without_store() {
    let scene = Scene::new();
    let holder = scene.run(
        &["--lease", "15s"],
        &format!(r#"{ALONE} trap '' TERM; echo in >> "$T/trace"; sleep 60; sleep 60"#),
    );
    scene.await_trace("in");
    let store = lock_the_store(&scene);
    // Its limit for each call, which the store does not answer, is a part of its lease.
    let waiter = scene.run(
        &["--lease", "1h"],
        &format!(r#"{ALONE} echo second >> "$T/trace""#),
    );
    until("the end of the command", || {
        scene.nobody_is_alone().then_some(())
    });
    drop(store);
    assert_eq!(waiter.code(), 0);
    assert_eq!(scene.trace(), ["in", "second"]);
    assert_eq!(holder.code(), 80);
}

#[test]
fn short_outage_harms_nothing() {
    let scene = Scene::new();
    let script = r#"echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.05; done; exit 7"#;
    let mut command = scene.dlock(["run", "lock", "--lease", "30s", "--grace", "0s"]);
    command
        .args(["--", "sh", "-c", script])
        .env("DLOCK_LOG", "debug");
    let mut holder = scene.start(command);
    scene.await_trace("in");
    let store = lock_the_store(&scene);
    holder.await_err("a renewal got no answer");
    drop(store);
    scene.await_renewal();
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(holder.code(), 7);
}

#[test]
fn lease_that_was_taken_away_ends_the_command_at_its_next_renewal() {
    let scene = Scene::new();
    let holder = scene.run(
        &["--lease", "15s"],
        &format!(r#"{ALONE} trap '' TERM; echo in >> "$T/trace"; sleep 60; sleep 60"#),
    );
    scene.await_trace("in");
    let changed = scene
        .open_store()
        .execute("UPDATE lock SET released = 1", [])
        .unwrap();
    assert_eq!(changed, 1);
    until("the end of the command", || {
        scene.nobody_is_alone().then_some(())
    });
    let holder = holder.finish(Duration::from_secs(20));
    assert_eq!(holder.code(), 80, "{holder:?}");
    // Not by the end of the lease.
    assert!(holder.err.contains("taken away"), "{holder:?}");
}

#[test]
fn store_that_does_not_answer_is_69() {
    let scene = Scene::new();
    assert_eq!(scene.finish(["run", "lock", "--", "true"]).code(), 0);
    let store = lock_the_store(&scene);
    for patience in [&["--no-wait"][..], &["--wait", "500ms"], &[]] {
        let mut run = vec!["run", "lock", "--lease", "1s"];
        run.extend(patience);
        run.extend(["--", "touch", "never"]);
        let finished = scene.finish(&run);
        assert_eq!(finished.code(), 69, "{finished:?}");
        assert!(finished.err.contains("locks.db"), "{finished:?}");
    }
    drop(store);
}

#[test]
fn deleted_store_ends_the_command_before_another_store_can_be_made() {
    let scene = Scene::new();
    let holder = scene.run(&[], r#"echo in >> "$T/trace"; sleep 60"#);
    scene.await_trace("in");
    for file in ["locks.db", "locks.db-wal", "locks.db-shm"] {
        std::fs::remove_file(scene.path(file)).ok();
    }
    let holder = holder.finish(Duration::from_secs(20));
    assert_eq!(holder.code(), 80, "{holder:?}");
}

#[test]
fn lock_that_was_somebody_elses_when_the_command_ended_is_80() {
    let scene = Scene::new();
    let holder = scene.run(
        &["--lease", "60s"],
        r#"echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.02; done"#,
    );
    scene.await_trace("in");
    // No renewal will notice it before the release does.
    let taken = "UPDATE lock SET uuid = '00000000-0000-4000-8000-000000000000'";
    assert_eq!(scene.open_store().execute(taken, []).unwrap(), 1);
    std::fs::write(scene.path("go"), "").unwrap();
    let holder = holder.finish(Duration::from_secs(20));
    assert_eq!(holder.code(), 80, "{holder:?}");
    assert!(holder.err.contains("not ours any more"), "{holder:?}");
}
