//! Tasks over HTTP.

mod conformance;
mod endings;
mod gone;
mod namespaces;
mod overload;
mod prune;
mod queues;
mod refusals;
pub(crate) mod store;
mod waiting;
mod worker;

use std::{future::Future, time::Duration};

use dlock_testkit::tasks::memory::MemoryTasks;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use self::store::Watched;
use crate::support::{Answer, Api, uuid};

const TASKS: &str = "/v1/default/tasks";
const CLAIM: &str = "/v1/default/tasks/claim";
/// How long anything that must happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The router before tasks in memory.
fn api() -> (Api, Watched) {
    let store = Watched::new(MemoryTasks::new());
    (Api::new().with_tasks(store.shared()), store)
}

fn claim(number: u32) -> Value {
    json!({"queues": ["default"], "uuid": uuid(number), "lease_ms": 60_000, "owner": "worker"})
}

fn waiting(number: u32, wait: u64) -> Value {
    let mut body = claim(number);
    body["wait_ms"] = json!(wait);
    body
}

/// Adds a task, and returns its number.
async fn add(api: &Api) -> i64 {
    let added = api.post(TASKS, json!({"tasks": [{"kind": "a"}]})).await;
    assert_eq!(added.status, 200, "{added:?}");
    added.body["tasks"][0]["id"].as_i64().unwrap()
}

/// The proof of the claim on this task: on the first one that the claim got.
fn key(number: u32, claimed: &Answer) -> (i64, Value) {
    let task = &claimed.body["tasks"][0];
    let id = task["id"].as_i64().unwrap_or_else(|| panic!("{claimed:?}"));
    (id, json!({"uuid": uuid(number), "token": task["token"]}))
}

/// Takes a task.
async fn take(api: &Api, number: u32) -> (i64, Value) {
    let claimed = api.post(CLAIM, claim(number)).await;
    key(number, &claimed)
}

fn with(body: &Value, more: Value) -> Value {
    let mut body = body.clone();
    if let Value::Object(more) = more {
        for (field, value) in more {
            body[field] = value;
        }
    }
    body
}

async fn eventually<Fut: Future<Output = bool>>(what: &str, holds: impl Fn() -> Fut) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(10)).await;
    }
}
