//! `dlock tasks` on a real PostgreSQL server.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use serde_json::{Value, json};

use super::postgres::{execute_in, shared, url};
use crate::support::{
    Scene,
    stores::{SECRET, assert_all_end, assert_ended},
};

const COUNTS: &[&str] = &["tasks", "counts"];
const LIST: &[&str] = &["tasks", "list"];
const SHOW: &[&str] = &["tasks", "show", "1"];
const CANCEL: &[&str] = &["tasks", "cancel", "1"];
const RETRY: &[&str] = &["tasks", "retry", "1"];
const ENQUEUE: &[&str] = &["tasks", "enqueue", "resize"];
const SETUP: &[&str] = &["tasks", "setup"];

fn at(url: &str) -> Scene {
    Scene::with(vec![("DLOCK_DATABASE", url.to_owned())])
}

/// A test's own database, without tables.
fn database() -> String {
    url(shared(), &format!("guarded:{SECRET}"), "")
}

fn name(url: &str) -> &str {
    url.rsplit_once('/').unwrap().1
}

#[track_caller]
fn json(scene: &Scene, words: &[&str]) -> Value {
    let finished = scene.finish([&["tasks", "--json"], words].concat());
    assert_ended(&finished, 0, "");
    serde_json::from_str(&finished.out).unwrap()
}

#[test]
fn queue_is_made_filled_shown_and_changed() {
    let scene = at(&database());
    assert_all_end(
        &scene,
        &[COUNTS, LIST, SHOW, CANCEL, RETRY, ENQUEUE],
        78,
        &["no queue", "'dlock tasks setup'"],
    );
    for _ in 0..2 {
        let made = scene.finish(SETUP);
        assert_ended(&made, 0, "");
        assert!(
            made.out.starts_with("ready: postgres://guarded@"),
            "{made:?}"
        );
    }
    assert_eq!(
        json(
            &scene,
            &["enqueue", "resize", r#"{"image": 7}"#, "--queue", "images"]
        ),
        json!({"id": 1, "new": true})
    );
    assert_eq!(
        json(
            &scene,
            &[
                "enqueue", "resize", "--queue", "images", "--in", "1h", "--key", "k"
            ]
        ),
        json!({"id": 2, "new": true})
    );
    assert_eq!(
        json(&scene, &["counts"]),
        json!([
            {"queue": "images", "state": "scheduled", "tasks": 1, "paused_since": null, "limit": null},
            {"queue": "images", "state": "ready", "tasks": 1, "paused_since": null, "limit": null},
        ])
    );
    assert_eq!(json(&scene, &["list", "--state", "ready"])[0]["id"], 1);
    let shown = json(&scene, &["show", "1"]);
    assert_eq!(
        (&shown["payload"], &shown["kind"]),
        (&json!({"image": 7}), &json!("resize"))
    );
    assert_eq!(
        json(&scene, &["cancel", "1"]),
        json!([{"id": 1, "was": "ready", "became": "cancelled"}])
    );
    assert_eq!(json(&scene, &["show", "1"])["state"], "cancelled");
    assert_eq!(
        json(&scene, &["retry", "1"]),
        json!([{"id": 1, "enqueued": 1, "key_of": null}])
    );
    assert_eq!(scene.finish(["tasks", "cancel", "9"]).code(), 1);
}

/// The tables of locks are separate, and `dlock run` creates none of a queue.
#[test]
fn schemas_are_queues_of_their_own() {
    let url = database();
    let locks = Scene::with(vec![("DLOCK_STORE", url.clone())]);
    assert_ended(&locks.finish(["setup"]), 0, "");
    assert_ended(&locks.finish(["run", "lock", "--", "true"]), 0, "");
    let (plain, ours) = (at(&url), at(&format!("{url}?schema=ours")));
    assert_all_end(&plain, &[COUNTS], 78, &["no queue"]);
    assert_ended(&ours.finish(SETUP), 0, "");
    assert_ended(&ours.finish(ENQUEUE), 0, "");
    assert_all_end(&plain, &[COUNTS], 78, &[r#""dlock".dlock_task"#]);
    for end in ["?table=t", "?prefix=p"] {
        assert_all_end(
            &at(&format!("{url}{end}")),
            &[COUNTS, SETUP],
            78,
            &["schema=NAME"],
        );
    }
}

#[test]
fn another_release_a_missing_right_and_a_damaged_table_are_78() {
    let url = database();
    let scene = at(&url);
    assert_ended(&scene.finish(SETUP), 0, "");
    let stranger = format!("stranger_of_{}", name(&url));
    let login = format!("CREATE ROLE {stranger} LOGIN PASSWORD '{SECRET}'");
    execute_in(shared(), name(&url), &login);
    let other = at(&url.replace("guarded:", &format!("{stranger}:")));
    assert_all_end(
        &other,
        &[COUNTS, ENQUEUE, CANCEL, SETUP],
        78,
        &["lacks a right", "to use a queue"],
    );

    execute_in(
        shared(),
        name(&url),
        "UPDATE dlock.dlock_task_layout SET version = 99",
    );
    assert_all_end(&scene, &[SETUP], 78, &["layout 99"]);
    execute_in(
        shared(),
        name(&url),
        "DROP FUNCTION dlock.dlock_task_cancel_1",
    );
    assert_all_end(&scene, &[CANCEL], 78, &["layout 99"]);

    execute_in(
        shared(),
        name(&url),
        "UPDATE dlock.dlock_task_layout SET version = 1; ALTER TABLE dlock.dlock_task DROP COLUMN payload CASCADE",
    );
    assert_all_end(&scene, &[LIST, SETUP], 78, &["payload"]);
}

#[test]
fn wrong_password_database_and_port_are_told_without_the_password() {
    let url = database();
    let wrong = at(&url.replace(SECRET, &format!("wrong-{SECRET}")));
    assert_all_end(&wrong, &[COUNTS, ENQUEUE, SETUP], 78, &["password"]);
    let none = at(&url.replace(name(&url), "nowhere"));
    assert_all_end(&none, &[COUNTS], 78, &["does not exist"]);
    let unclear = at(&url.replace(SECRET, &format!("{SECRET}/x")));
    assert_all_end(&unclear, &[COUNTS], 78, &["%2F"]);
    let closed = at("postgres://guarded@127.0.0.1:1/app");
    assert_all_end(&closed, &[COUNTS, ENQUEUE], 69, &["does not answer"]);
}
