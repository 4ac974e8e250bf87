//! `dlock doctor`.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use serde_json::Value;

use crate::support::{Finished, Scene, looking::healthy_store_is_told_so, stores::assert_ended};

fn state<'a>(report: &'a Value, check: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|found| found["check"] == check);
    found.unwrap_or_else(|| panic!("no {check}: {report}"))
}

fn report(finished: &Finished) -> Value {
    serde_json::from_str(&finished.out).unwrap_or_else(|_| panic!("{finished:?}"))
}

#[test]
fn healthy_file_is_told_so() {
    let scene = Scene::new();
    assert_ended(&scene.finish(["run", "lock", "--", "true"]), 0, "");
    healthy_store_is_told_so(&scene);
    let table = scene.finish(["doctor"]);
    assert_ended(&table, 0, "");
    for line in [
        "ok      encryption  nothing leaves this machine\n",
        "ok      clock       the store's is within 2s of this machine's\n",
    ] {
        assert!(table.out.contains(line), "{table:?}");
    }
}

#[test]
fn store_that_is_not_there_must_be_mended() {
    let scene = Scene::new();
    let finished = scene.finish(["doctor", "--json"]);
    assert_ended(&finished, 78, "");
    let store = report(&finished);
    assert_eq!(state(&store, "store")["state"], "wrong");
    assert!(state(&store, "store")["advice"].is_string());
    assert_eq!(store["checks"].as_array().unwrap().len(), 1, "{store}");
    assert!(!scene.path("locks.db").exists());
}

#[test]
fn two_doctors_do_not_look_at_once() {
    let scene = Scene::new();
    let acquired = scene.finish(["acquire", "dlock-doctor", "--lease", "1h"]);
    assert_ended(&acquired, 0, "");
    let finished = scene.finish(["doctor"]);
    assert_ended(&finished, 75, "another 'dlock doctor' is at work");
    assert_eq!(finished.out, "");
}
