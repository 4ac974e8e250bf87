//! `dlock tasks`.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

mod queues;

use std::time::Duration;

use dlock_sqlite::tasks::SqliteTasks;
use dlock_tasks::{Claim, ClaimedTask, Ending, How, NewTask, TaskStore, When};
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use crate::support::{Finished, Scene};

const LONG: Duration = Duration::from_secs(600);

struct Queue {
    scene: Scene,
    folder: TempDir,
    tasks: SqliteTasks,
    runtime: tokio::runtime::Runtime,
}

impl Queue {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            scene: Scene::new(),
            tasks: SqliteTasks::open(folder.path().join("shop.db")).unwrap(),
            runtime: tokio::runtime::Runtime::new().unwrap(),
            folder,
        }
    }

    fn dlock(&self, arguments: &[&str]) -> Finished {
        let database = format!("sqlite:{}", self.folder.path().join("shop.db").display());
        let words = [&["tasks", "--database", &database], arguments].concat();
        self.scene.finish(words)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let finished = self.dlock(&[arguments, &["--json"]].concat());
        assert_eq!(finished.code(), 0, "{finished:?}");
        serde_json::from_str(&finished.out).unwrap()
    }

    fn add(&self, task: NewTask) {
        self.runtime.block_on(self.tasks.enqueue(&[task])).unwrap();
    }

    fn take(&self) -> ClaimedTask {
        let claim = Claim::new("images", Uuid::new_v4(), LONG).owner("web 1\u{1b}[2J");
        let mut claimed = self.runtime.block_on(self.tasks.claim(&claim)).unwrap();
        claimed.tasks.remove(0)
    }

    fn finish(&self, task: &ClaimedTask, how: How) {
        let ending = Ending::new(task.key, how);
        self.runtime.block_on(self.tasks.finish(&[ending])).unwrap();
    }
}

fn task() -> NewTask {
    NewTask::builder()
        .kind("resize")
        .queue("images")
        .payload(json!({"image": 7}))
        .build()
}

#[test]
fn tasks_are_counted_listed_and_shown() {
    let queue = Queue::new();
    for _ in 0..3 {
        queue.add(task());
    }
    queue.add(
        NewTask::builder()
            .kind("resize")
            .queue("images")
            .when(When::In(LONG))
            .build(),
    );
    let first = queue.take();
    let failed = queue.take();
    let error = "no disk\u{7}".to_owned();
    queue.finish(&failed, How::Discard { error });
    assert_eq!(
        queue.json(&["counts"]),
        json!([
            {"queue": "images", "state": "scheduled", "tasks": 1, "paused_since": null, "limit": null},
            {"queue": "images", "state": "ready", "tasks": 1, "paused_since": null, "limit": null},
            {"queue": "images", "state": "running", "tasks": 1, "paused_since": null, "limit": null},
            {"queue": "images", "state": "dead", "tasks": 1, "paused_since": null, "limit": null},
        ])
    );
    let counts = queue.dlock(&["counts"]).out;
    assert!(
        counts.starts_with("QUEUE   STATE      TASKS  PAUSED SINCE  LIMIT\nimages  scheduled  1      -             -\n"),
        "{counts}"
    );

    let ids = |arguments: &[&str]| -> Vec<i64> {
        let listed = queue.json(arguments);
        let listed = listed.as_array().unwrap().iter();
        listed.map(|task| task["id"].as_i64().unwrap()).collect()
    };
    assert_eq!(ids(&["list"]), [4, 3, 2, 1]);
    assert_eq!(ids(&["list", "--oldest-first"]), [1, 2, 3, 4]);
    assert_eq!(ids(&["list", "--kind", "other"]), [0_i64; 0]);
    assert_eq!(ids(&["list", "--state", "dead"]), [2]);
    assert_eq!(ids(&["list", "--after", "4", "--limit", "2"]), [3, 2]);
    assert_eq!(ids(&["list", "--queue", "other"]), [0_i64; 0]);
    for (words, note) in [
        (
            &["list", "--limit", "3"][..],
            "3 of 4 are shown, the newest first; the next: --after 2",
        ),
        (
            &["list", "--after", "4", "--limit", "2", "--json"],
            "2 of 4 are shown",
        ),
        (
            &["list", "--oldest-first", "--limit", "1"],
            "1 of 4 are shown, the oldest first; the next: --after 1",
        ),
        (&["list", "--state", "ready", "--limit", "1"], ""),
        (&["list", "--after", "4"], ""),
        (&["list", "--limit", "1", "--quiet"], ""),
    ] {
        let err = queue.dlock(words).err;
        assert!(
            err.contains(note) && err.is_empty() == note.is_empty(),
            "{words:?}: {err}"
        );
    }
    let table = queue.dlock(&["list"]).out;
    assert!(!table.contains(['\u{1b}', '\u{7}']), "{table:?}");
    let running = table
        .lines()
        .find(|line| line.contains(" running "))
        .unwrap();
    assert!(
        running.contains("1/20") && running.contains("web 1"),
        "{running}"
    );

    let shown = queue.json(&["show", "1"]);
    assert_eq!(
        (
            &shown["state"],
            &shown["payload"],
            &shown["holder"]["token"]
        ),
        (
            &"running".into(),
            &json!({"image": 7}),
            &first.key.token.get().into()
        )
    );
    let shown = queue.dlock(&["show", "2"]).out;
    assert!(shown.contains("state       dead\n"), "{shown}");
    assert!(shown.contains("error       attempt 1 at 2"), "{shown}");
    assert!(shown.contains(": no disk"), "{shown}");
}

#[test]
fn payload_is_shown_as_json_that_harms_no_terminal() {
    let queue = Queue::new();
    let payload = json!({"name": "\"Zoë\"\\ \u{7f}\u{9b}\u{202e}\u{e0001}"});
    queue.add(
        NewTask::builder()
            .kind("greet")
            .payload(payload.clone())
            .build(),
    );
    let shown = queue.dlock(&["show", "1"]).out;
    let line = shown
        .lines()
        .find_map(|line| line.strip_prefix("payload     "));
    let line = line.unwrap_or_else(|| panic!("no payload: {shown}"));
    assert_eq!(serde_json::from_str::<Value>(line).unwrap(), payload);
    assert!(line.contains("Zoë"), "{line}");
    let harmless = |character: char| character.is_ascii_graphic() || " ë".contains(character);
    assert!(line.chars().all(harmless), "{line:?}");
}

#[test]
fn tasks_are_cancelled_and_retried() {
    let queue = Queue::new();
    for _ in 0..3 {
        queue.add(task());
    }
    let (first, second) = (queue.take(), queue.take());
    queue.finish(&second, How::Complete(Value::Null));
    let cancelled = queue.dlock(&["cancel", "1", "2", "3", "9"]);
    assert_eq!(
        (cancelled.code(), cancelled.out.as_str()),
        (
            1,
            "task 1 runs: its worker is asked to stop\n\
             task 2 has ended: it is succeeded\n\
             task 3 is cancelled; it was ready\n"
        )
    );
    assert!(
        cancelled.err.contains("there is no task 9"),
        "{cancelled:?}"
    );
    assert_eq!(queue.json(&["show", "1"])["holder"]["asked"], true);
    let forced = queue.dlock(&["cancel", "--force", "1"]);
    assert_eq!(
        (forced.code(), forced.out.as_str()),
        (0, "task 1 is cancelled; it was running\n")
    );
    queue.finish(&first, How::Complete(json!("too late")));
    assert_eq!(queue.json(&["show", "1"])["state"], "cancelled");

    let retried = queue.dlock(&["retry", "1", "2"]);
    assert_eq!(
        (retried.code(), retried.out.as_str()),
        (
            0,
            "task 1 is enqueued once more\ntask 2 has succeeded; its copy is task 4\n"
        )
    );
    let again = queue.dlock(&["retry", "1"]);
    assert_eq!(again.code(), 1);
    assert!(
        again.err.contains("there is no task 1 that has ended"),
        "{again:?}"
    );
    assert_eq!(queue.dlock(&["show", "99"]).code(), 1);
}

/// For programs, each task has an object, even a task that does not exist.
#[test]
fn changes_are_told_as_json() {
    let queue = Queue::new();
    for _ in 0..2 {
        queue.add(task());
    }
    queue.take();
    let cancelled = queue.dlock(&["cancel", "1", "2", "9", "--json"]);
    assert_eq!(cancelled.code(), 1, "{cancelled:?}");
    let rows: Value = serde_json::from_str(&cancelled.out).unwrap();
    assert_eq!(
        rows,
        json!([
            {"id": 1, "was": "running", "became": "asked"},
            {"id": 2, "was": "ready", "became": "cancelled"},
            {"id": 9, "was": null, "became": null},
        ])
    );
    let retried = queue.dlock(&["retry", "2", "1", "--json"]);
    assert_eq!(retried.code(), 1, "{retried:?}");
    let rows: Value = serde_json::from_str(&retried.out).unwrap();
    assert_eq!(
        rows,
        json!([
            {"id": 2, "enqueued": 2, "key_of": null},
            {"id": 1, "enqueued": null, "key_of": null},
        ])
    );
}

#[test]
fn task_of_a_lane_is_enqueued_and_shown() {
    let queue = Queue::new();
    queue.dlock(&[
        "enqueue",
        "resize",
        "--queue",
        "images",
        "--lane",
        "customer 7",
    ]);
    assert_eq!(queue.json(&["show", "1"])["lane"], "customer 7");
    let shown = queue.dlock(&["show", "1"]).out;
    let lane = shown.lines().find(|line| line.starts_with("lane"));
    assert!(
        lane.is_some_and(|line| line.ends_with("customer 7")),
        "{shown}"
    );
}

#[test]
fn tasks_are_enqueued() {
    let queue = Queue::new();
    let words = [
        "enqueue",
        "resize",
        r#"{"image": 7}"#,
        "--queue",
        "images",
        "--key",
        "7",
    ];
    let added = queue.dlock(&[&words[..], &["--priority", "2", "--max-attempts", "3"]].concat());
    assert_eq!(
        (added.code(), added.out.as_str()),
        (0, "task 1 is enqueued\n"),
        "{added:?}"
    );
    let shown = queue.json(&["show", "1"]);
    for (what, value) in [
        ("kind", json!("resize")),
        ("queue", json!("images")),
        ("payload", json!({"image": 7})),
        ("key", json!("7")),
        ("priority", json!(2)),
        ("max_attempts", json!(3)),
        ("state", json!("ready")),
    ] {
        assert_eq!(shown[what], value, "{what}: {shown}");
    }
    let again = queue.dlock(&words);
    assert_eq!(
        (again.code(), again.out.as_str()),
        (0, "nothing is enqueued: task 1 has this key\n")
    );
    assert_eq!(queue.json(&words), json!({"id": 1, "new": false}));
    let add = |words: &[&str]| {
        let added = queue.json(&[&["enqueue", "a"], words].concat());
        assert_eq!(added["new"], true, "{added}");
        queue.json(&["show", &added["id"].to_string()])
    };
    assert_eq!(add(&["--in", "1h"])["state"], "scheduled");
    let shown = add(&["--at", "2099-01-01T00:00:00Z"]);
    assert_eq!(
        (&shown["run_at"], &shown["payload"]),
        (&json!("2099-01-01T00:00:00Z"), &Value::Null)
    );
    for (words, code, why) in [
        (&["a", "{image"][..], 64, "the payload is not JSON"),
        (&["a", "--in=-1s"], 64, "--in <TIME>"),
        (&["a", "--at", "tomorrow"], 64, "2026-12-01T09:00:00Z"),
        (
            &["a", "--in", "1s", "--at", "2099-01-01T00:00:00Z"],
            64,
            "cannot be used with",
        ),
        (
            &["a", "--priority", "10"],
            64,
            "priority 10 is not possible",
        ),
        (
            &["a", "--max-attempts", "0"],
            64,
            "0 attempts are not possible",
        ),
        (&["a", "--key-until", "started"], 64, "--key <KEY>"),
        (&["", "1"], 64, "kind of a task has 0 bytes"),
    ] {
        let refused = queue.dlock(&[&["enqueue"], words].concat());
        assert_eq!(refused.code(), code, "{words:?}: {refused:?}");
        assert!(refused.err.contains(why), "{words:?}: {refused:?}");
    }
    assert_eq!(queue.json(&["list"]).as_array().unwrap().len(), 3);
}
