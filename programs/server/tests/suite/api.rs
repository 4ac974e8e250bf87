//! The interface of the sample, as its description has it: paths, bodies, statuses, and its mistakes.

mod generator;
mod leases;
mod rights;
mod tasks;

use std::sync::Arc;

use axum::{
    body::Body,
    http::{Request, header},
};
use dlock_server::Limits;
use dlock_tasks::TaskStore;
use dlock_testkit::{
    faults::Faulty,
    memory::{MemoryProvider, MemoryStore},
    tasks::memory::MemoryTasks,
};
use serde_json::{Value, json};

use crate::support::{Answer, Api};

/// The router before locks and tasks in memory, in paused time.
fn api() -> Api {
    let tasks: Arc<dyn TaskStore> = Arc::new(MemoryTasks::new());
    api_before(&tasks)
}

/// The same before these locks.
fn api_before_locks(locks: &MemoryStore) -> Api {
    let locks = Faulty::new(MemoryProvider::new(locks));
    let tasks = Arc::new(MemoryTasks::new());
    let api = Api::before(locks, Limits::default()).with_tasks(tasks);
    drop(api.service.clone().with_api());
    api
}

/// The same before these tasks.
fn api_before(tasks: &Arc<dyn TaskStore>) -> Api {
    let api = Api::new().with_tasks(Arc::clone(tasks));
    // All clones of a service are the same one.
    drop(api.service.clone().with_api());
    api
}

impl Api {
    /// A request, e.g. `PUT /api/leases/renew`.
    async fn ask(&self, what: &str, body: Value) -> Answer {
        self.ask_with_key(what, None, body).await
    }

    async fn ask_with_key(&self, what: &str, key: Option<&str>, body: Value) -> Answer {
        let (method, path) = what.split_once(' ').unwrap();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let body = match body {
            Value::Null => Body::empty(),
            body => Body::from(body.to_string()),
        };
        self.send(request.body(body).unwrap()).await
    }

    /// A request that must be answered with this status; returns the body.
    #[track_caller]
    fn gets(&self, what: &str, body: Value, status: u16) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            let answer = self.ask(what, body).await;
            assert_eq!(answer.status, status, "{what} ({caller}): {answer:?}");
            if status >= 400 {
                let error = answer.body["error"].as_str();
                assert!(error.is_some_and(|error| !error.is_empty()), "{answer:?}");
            }
            answer.body
        }
    }
}

fn door(holder: &str) -> Value {
    json!({"resource": "door", "holder": holder})
}

const TAKE: &str = "POST /api/leases";
const RENEW: &str = "PUT /api/leases/renew";
const RELEASE: &str = "DELETE /api/leases/release";

#[tokio::test]
async fn is_not_there_unless_it_is_asked_for() {
    let api = Api::new().with_tasks(Arc::new(MemoryTasks::new()));
    let answer = api.ask(TAKE, door("anna")).await;
    assert_eq!((answer.status, answer.code()), (404, "not-found"));
    assert!(answer.body["detail"].as_str().unwrap().contains("--api"));
    assert_eq!(api.get("/api/healthz").await.status, 404);
}

#[tokio::test]
async fn health_is_what_the_sample_says() {
    let health = api().gets("GET /api/healthz", Value::Null, 200).await;
    assert_eq!(health["status"], "ok");
    assert!(health["timestamp"].is_string(), "{health}");
}
