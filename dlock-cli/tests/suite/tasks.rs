//! `dlock tasks`.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

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
            {"queue": "images", "state": "scheduled", "tasks": 1},
            {"queue": "images", "state": "ready", "tasks": 1},
            {"queue": "images", "state": "running", "tasks": 1},
            {"queue": "images", "state": "dead", "tasks": 1},
        ])
    );
    let counts = queue.dlock(&["counts"]).out;
    assert!(
        counts.starts_with("QUEUE   STATE      TASKS\nimages  scheduled  1\n"),
        "{counts}"
    );

    let ids = |arguments: &[&str]| -> Vec<i64> {
        let listed = queue.json(arguments);
        let listed = listed.as_array().unwrap().iter();
        listed.map(|task| task["id"].as_i64().unwrap()).collect()
    };
    assert_eq!(ids(&["list"]), [1, 2, 3, 4]);
    assert_eq!(ids(&["list", "--state", "dead"]), [2]);
    assert_eq!(ids(&["list", "--after", "1", "--limit", "2"]), [2, 3]);
    assert_eq!(ids(&["list", "--queue", "other"]), [0_i64; 0]);
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
            64,
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
