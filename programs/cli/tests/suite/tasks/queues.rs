//! Queues that are paused, limited, set up, or none.

use dlock_tasks::{Claim, TaskStore as _};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{LONG, Queue, task};

#[test]
fn queues_are_paused_and_resumed() {
    let queue = Queue::new();
    queue.add(task());
    let paused = queue.dlock(&["pause", "images", "bad\u{7}"]);
    assert_eq!(
        (paused.code(), paused.out.as_str()),
        (0, "queue images is paused\nqueue bad\\u{7} is paused\n")
    );
    let listed = queue.json(&["paused"]);
    assert_eq!(listed[0]["queue"], "bad\u{7}");
    assert_eq!(listed[1]["queue"], "images");
    let since = listed[1]["since"].as_str().unwrap();
    assert_eq!(queue.json(&["counts"])[0]["paused_since"], since);
    let table = queue.dlock(&["paused"]).out;
    let row: Vec<&str> = table.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!(row, ["images", since], "{table}");
    let claim = Claim::new("images", Uuid::new_v4(), LONG);
    let claimed = queue.runtime.block_on(queue.tasks.claim(&claim)).unwrap();
    assert!(claimed.tasks.is_empty(), "{claimed:?}");

    let resumed = queue.json(&["resume", "images", "never"]);
    let now = |queue: &str| json!({"queue": queue, "paused": false});
    assert_eq!(resumed, json!([now("images"), now("never")]));
    queue.take();
    let refused = queue.dlock(&["pause", "other", ""]);
    assert_eq!(refused.code(), 64, "{refused:?}");
    assert_eq!(
        queue.json(&["paused"])[1]["queue"],
        Value::Null,
        "nothing is done"
    );
}

#[test]
fn queues_have_limits() {
    let queue = Queue::new();
    queue.add(task());
    queue.dlock(&["enqueue", "resize", "--queue", "other"]);
    let limited = queue.dlock(&["limit", "images", "3"]);
    assert_eq!(
        (limited.code(), limited.out.as_str()),
        (0, "queue images runs 3 at a time\n")
    );
    assert_eq!(
        queue.json(&["limits"]),
        json!([{"queue": "images", "limit": 3}])
    );
    let counts = queue.json(&["counts"]);
    let limits = [&counts[0]["limit"], &counts[1]["limit"]];
    assert_eq!(limits, [&json!(3), &Value::Null], "{counts}");
    let table = queue.dlock(&["counts"]).out;
    let last = |line: &str| line.split_whitespace().last().map(str::to_owned);
    let column: Vec<String> = table.lines().filter_map(last).collect();
    assert_eq!(column, ["LIMIT", "3", "-"], "{table}");
    let table = queue.dlock(&["limits"]).out;
    assert_eq!(table, "QUEUE   LIMIT\nimages  3\n");
    for wrong in [
        ["images", "0"],
        ["images", "-1"],
        ["images", "many"],
        ["", "1"],
    ] {
        let refused = queue.dlock(&[&["limit", "--"], &wrong[..]].concat());
        assert_eq!(refused.code(), 64, "{wrong:?} {refused:?}");
    }
    let limited = queue.json(&["limit", "images", "none"]);
    assert_eq!(limited, json!({"queue": "images", "limit": null}));
    assert_eq!(queue.json(&["limits"]), json!([]));
    let without = queue.dlock(&["limit", "images", "none"]);
    assert_eq!(without.out, "queue images has no limit\n");
}

#[test]
fn setup_makes_a_queue_once() {
    let queue = Queue::new();
    let new = format!("sqlite:{}", queue.folder.path().join("new.db").display());
    for _ in 0..2 {
        let made = queue.scene.finish(["tasks", "setup", "--store", &new]);
        assert_eq!((made.code(), made.out), (0, format!("ready: {new}\n")));
    }
    let counts = queue
        .scene
        .finish(["tasks", "counts", "--json", "--database", &new]);
    assert_eq!((counts.code(), counts.out.as_str()), (0, "[]\n"));
}

#[test]
fn what_is_no_queue_is_said_and_nothing_made() {
    let queue = Queue::new();
    let missing = queue.folder.path().join("none.db");
    let argument = format!("sqlite:{}", missing.display());
    let none = queue
        .scene
        .finish(["tasks", "counts", "--database", &argument]);
    assert_eq!(none.code(), 78, "{none:?}");
    assert!(none.err.contains("there is no queue in"), "{none:?}");
    assert!(!missing.exists());
    for (words, code) in [
        (&["tasks", "counts"][..], 64),
        (
            &["tasks", "counts", "--database", "mysql://u:secret@h/d"],
            78,
        ),
        (&["tasks", "show", "0", "--database", &argument], 64),
        (
            &["tasks", "list", "--state", "lost", "--database", &argument],
            64,
        ),
    ] {
        let finished = queue.scene.finish(words);
        assert_eq!(finished.code(), code, "{words:?}: {finished:?}");
        assert!(!finished.err.contains("secret"), "{finished:?}");
    }
}
