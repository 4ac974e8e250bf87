//! How much of a server's memory requests and answers take.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    body::{Body, Bytes},
    http::{Request, header},
};
use dlock_testkit::tasks::memory::MemoryTasks;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};

use crate::support::{ACQUIRE, Api, acquire, limits, uuid};

const KIB: usize = 1024;
const TASKS: &str = "/v1/default/tasks";

/// A request whose body comes in pieces of one KiB; `read` counts those that were read.
fn slow(path: &str, kib: usize, read: &Arc<AtomicUsize>) -> Request<Body> {
    let read = Arc::clone(read);
    let pieces = stream::iter(0..kib).map(move |_| {
        read.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Infallible>(Bytes::from(vec![b' '; KIB]))
    });
    Request::builder()
        .method("POST")
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from_stream(pieces))
        .unwrap()
}

#[tokio::test]
async fn body_of_somebody_unknown_is_not_read_and_that_of_a_log_in_is_small() {
    let api = Api::new().with_tasks(Arc::new(MemoryTasks::new()));
    drop(api.service.clone().with_api());
    api.restrict("[[certificate]]\nname = \"other\"\nrights = { team = [\"read\"] }");
    let description = api.get("/openapi.json").await;
    for (path, item) in description.body["paths"].as_object().unwrap() {
        let path = path.replace("{namespace}", "default").replace("{id}", "1");
        for method in item.as_object().unwrap().keys() {
            let read = Arc::default();
            let mut request = slow(&path, 1_000, &read);
            *request.method_mut() = method.to_uppercase().parse().unwrap();
            let status = api.send(request).await.status;
            let read = read.load(Ordering::SeqCst);
            if (&*path, &**method) == ("/v1/session", "post") {
                assert_eq!(status, 413);
                assert!(read <= 5, "{read} KiB of a log-in were read");
            } else {
                assert_eq!(
                    read, 0,
                    "{method} {path} reads the body of an unknown sender"
                );
            }
        }
    }
}

/// Requests whose bodies are incomplete occupy their bytes; those of holders may have as much again, and a small body
/// occupies none.
#[tokio::test]
async fn bodies_are_refused_when_there_is_no_memory_for_them() {
    let limits = limits(|limits| limits.memory = 100 * KIB);
    let api = Api::limited(limits).with_tasks(Arc::new(MemoryTasks::new()));
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    let unfinished = |path: &str, kib: usize| {
        let read = Arc::new(AtomicUsize::new(0));
        let request = slow(path, kib, &read);
        let (parts, body) = request.into_parts();
        let body = body.into_data_stream().chain(stream::pending());
        let request = Request::from_parts(parts, Body::from_stream(body));
        let mut answer = Box::pin(api.send(request));
        let answered = (&mut answer).now_or_never();
        (answer, answered.map(|answer| answer.code().to_owned()))
    };
    let overloaded = Some("overloaded".to_owned());
    let (enqueue, answer) = unfinished(TASKS, 79);
    assert_eq!(answer, None);
    let (_, answer) = unfinished(TASKS, 10);
    assert_eq!(answer, overloaded);
    assert_eq!(api.get(TASKS).await.code(), "overloaded");
    let (holder, answer) = unfinished("/v1/default/tasks/endings", 110);
    assert_eq!(answer, None);
    let (_, answer) = unfinished("/v1/default/tasks/endings", 40);
    assert_eq!(answer, overloaded);
    let renew = json!({"name": "door", "uuid": uuid(1), "n": 1});
    let renewed = api.post("/v1/default/leases/renew", renew).await;
    assert_eq!(renewed.status, 200);
    drop((enqueue, holder));
    assert_eq!(api.get(TASKS).await.status, 200);
}

#[tokio::test]
async fn answer_that_is_not_sent_has_its_memory() {
    let limits = limits(|limits| limits.memory = 200 * KIB);
    let api = Api::limited(limits).with_tasks(Arc::new(MemoryTasks::new()));
    let new = json!({"tasks": [{"kind": "a", "payload": "x".repeat(130 * KIB)}]});
    assert_eq!(api.post(TASKS, new).await.status, 200);
    let ask = || Request::builder().uri(TASKS).body(Body::empty()).unwrap();
    let answer = api.open(ask()).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(api.open(ask()).await.status(), 503);
    drop(answer);
    assert_eq!(api.open(ask()).await.status(), 200);
}

#[tokio::test]
async fn what_everybody_may_have_takes_no_memory() {
    let limits = limits(|limits| limits.memory = 10 * KIB);
    let api = Api::limited(limits).with_tasks(Arc::new(MemoryTasks::new()));
    let mut answers = Vec::new();
    for path in ["/openapi.json", "/", "/page/main.js", "/v1/nothing"] {
        for _ in 0..100 {
            let ask = Request::builder().uri(path).body(Body::empty()).unwrap();
            answers.push(api.open(ask).await);
        }
    }
    assert_eq!(api.get(TASKS).await.status, 200);
}

/// All rows of a list, page by page, and how many pages there were.
async fn all(api: &Api, list: &str, rows: &str) -> (Vec<Value>, usize) {
    let (mut all, mut pages, mut after) = (Vec::new(), 0, String::new());
    loop {
        let page = api.get(&format!("{list}?{after}")).await;
        assert_eq!(page.status, 200, "{page:?}");
        let length = page.body.to_string().len();
        assert!(
            length < 2 * KIB * KIB,
            "{list} has a page of {length} bytes"
        );
        all.extend(page.body[rows].as_array().unwrap().iter().cloned());
        pages += 1;
        match &page.body["next"] {
            Value::Null => return (all, pages),
            Value::String(name) => after = format!("after={name}"),
            next => after = format!("after={next}"),
        }
    }
}

#[tokio::test]
async fn pages_of_large_rows_are_short_and_miss_none() {
    let api = Api::new().with_tasks(Arc::new(MemoryTasks::new()));
    drop(api.service.clone().with_api());
    for number in 0..12 {
        let payload = "x".repeat(250 * KIB);
        let new = json!({"tasks": [{"kind": "a", "payload": payload}]});
        assert_eq!(api.post(TASKS, new).await.status, 200);
        let new = json!({ "task_data": payload });
        assert_eq!(api.post("/api/tasks", new).await.status, 201);
        for name in 0..100 {
            let mut body = acquire(&format!("{number:02}-{name:02}"), number * 100 + name);
            body["data"] = json!("QUFB".repeat(KIB));
            let body = api.post(ACQUIRE, body).await;
            assert_eq!(body.status, 200, "{body:?}");
        }
    }
    for (list, rows, many) in [
        // Those of both interfaces.
        (TASKS, "tasks", 24),
        ("/api/tasks", "tasks", 12),
        ("/v1/default/leases", "leases", 1_200),
        ("/api/leases", "leases", 1_200),
    ] {
        let (found, pages) = all(&api, list, rows).await;
        assert_eq!(found.len(), many, "{list}");
        assert!(pages > 1 || list == "/api/leases", "{list} has one page");
        let key = if rows == "tasks" { "id" } else { "token" };
        let mut keys: Vec<_> = found.iter().map(|row| row[key].to_string()).collect();
        keys.sort();
        keys.dedup();
        assert!(
            keys.len() == many || rows == "leases",
            "{list} repeats rows"
        );
    }
}
