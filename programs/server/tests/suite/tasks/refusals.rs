//! Each fault of a request or a store has its status and its code.

use std::time::Duration;

use dlock_testkit::tasks::memory::MemoryTasks;
use serde_json::{Value, json};

use super::{CLAIM, TASKS, Watched, add, api, claim, store::Fault, take, with};
use crate::support::{Api, limits, uuid};

#[tokio::test]
async fn request_that_cannot_be_meant_is_pointed_at() {
    let (api, store) = api();
    let new = |more: Value| json!({"tasks": [{"kind": "a"}, with(&json!({"kind": "a"}), more)]});
    let long = "x".repeat(129 - "default/".len());
    let proof = json!({"uuid": uuid(1), "token": 1});
    let beat =
        |more: Value| json!({"heartbeats": [with(&with(&proof, json!({"id": 1, "n": 1})), more)]});
    let ending = |how: Value| json!({"endings": [with(&proof, json!({"id": 1, "how": how}))]});
    let large = || json!("x".repeat(256 * 1024));
    let periodic = |more: Value| {
        let good =
            json!({"schedule": "s", "instant": "2026-01-01T00:00:00Z", "task": {"kind": "a"}});
        with(&good, more)
    };
    for (path, pointer, body) in [
        ("", "/tasks/1/kind", new(json!({"kind": 1}))),
        ("", "/tasks/1", new(json!({"kind": ""}))),
        ("", "/tasks/1", new(json!({"priority": 10}))),
        ("", "/tasks/1/priority", new(json!({"priority": 256}))),
        ("", "/tasks/1", new(json!({"max_attempts": 0}))),
        ("", "/tasks/1", new(json!({"payload": large()}))),
        (
            "",
            "/tasks/1",
            new(json!({"run_in_ms": 1, "run_at": "2026-01-01T00:00:00Z"})),
        ),
        ("", "/tasks/1/run_at", new(json!({"run_at": "tomorrow"}))),
        ("", "/tasks/1/queue", new(json!({"queue": ""}))),
        ("", "/tasks/1/queue", new(json!({"queue": long}))),
        ("", "/tasks/1/queue", new(json!({"queue": "a\0"}))),
        ("", "/tasks/1/group", new(json!({"group": "x"}))),
        (
            "",
            "/tasks",
            json!({"tasks": vec![json!({"kind": "a"}); 10_001]}),
        ),
        (
            "/claim",
            "/wait_ms",
            with(&claim(1), json!({"wait_ms": 25_001})),
        ),
        (
            "/claim",
            "/queues/0",
            with(&claim(1), json!({"queues": [long]})),
        ),
        ("/claim", "", with(&claim(1), json!({"queues": []}))),
        ("/claim", "", with(&claim(1), json!({"kinds": []}))),
        ("/claim", "", with(&claim(1), json!({"lease_ms": 99}))),
        ("/claim", "", with(&claim(1), json!({"max": 0}))),
        ("/claim", "", with(&claim(1), json!({"max": 10_001}))),
        ("/claim", "/uuid", with(&claim(1), json!({"uuid": "x"}))),
        ("/heartbeat", "/heartbeats/0/id", beat(json!({"id": 0}))),
        (
            "/heartbeat",
            "/heartbeats/0/token",
            beat(json!({"token": 0})),
        ),
        (
            "/heartbeat",
            "/heartbeats",
            json!({"heartbeats": vec![beat(json!({}))["heartbeats"][0].clone(); 501]}),
        ),
        (
            "/endings",
            "/endings/0",
            ending(json!({"complete": {"output": large()}})),
        ),
        (
            "/endings",
            "/endings",
            json!({"endings": vec![ending(json!({"give-back": {}}))["endings"][0].clone(); 501]}),
        ),
        ("/1/complete", "", with(&proof, json!({"output": large()}))),
        (
            "/1/complete",
            "/state",
            with(&proof, json!({"state": "dead"})),
        ),
        (
            "/1/checkpoint",
            "/checkpoint",
            with(&proof, json!({"number": 1, "checkpoint": "x".repeat(4096)})),
        ),
        (
            "/periodic",
            "/schedule",
            periodic(json!({"schedule": long})),
        ),
        (
            "/periodic",
            "/task",
            periodic(json!({"task": {"kind": ""}})),
        ),
        ("/1/cancel", "/forced", json!({"forced": true})),
    ] {
        let refused = api.post(&format!("{TASKS}{path}"), body).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "bad-request"),
            "{path} {pointer}"
        );
        assert_eq!(
            refused.body["pointer"].as_str().unwrap_or_default(),
            pointer,
            "{path}"
        );
    }
    assert_eq!(store.claims(), 0);
    for query in [
        "?limit=x",
        "?state=busy",
        "?after=0",
        "?queue=",
        "/events?kind=a",
        "/events?queue=a&x=1",
    ] {
        assert_eq!(
            api.get(&format!("{TASKS}{query}")).await.status,
            400,
            "{query}"
        );
    }
    assert_eq!(
        api.get(&format!("{TASKS}/counts")).await.body["counts"],
        json!([])
    );
}

#[tokio::test]
async fn number_that_no_task_has_is_not_found() {
    let (api, _) = api();
    for id in ["99", "0", "-1", "x", "99999999999999999999"] {
        let path = format!("{TASKS}/{id}");
        let read = api.get(&path).await;
        assert_eq!((read.status, read.code()), (404, "not-found"), "{id}");
        for change in ["cancel", "retry"] {
            let refused = api.post(&format!("{path}/{change}"), json!({})).await;
            assert_eq!(
                (refused.status, refused.code()),
                (404, "not-found"),
                "{id} {change}"
            );
        }
    }
    let proof = json!({"uuid": uuid(1), "token": 1});
    let lost = api.post(&format!("{TASKS}/99/complete"), proof).await;
    assert_eq!(
        (lost.status, lost.code(), lost.body.get("state")),
        (409, "lost", None)
    );
}

#[tokio::test]
async fn only_what_has_ended_is_retried() {
    let (api, _) = api();
    let id = add(&api).await;
    let retry = async || api.post(&format!("{TASKS}/{id}/retry"), json!({})).await;
    let refused = retry().await;
    assert_eq!((refused.status, refused.code()), (409, "changed"));
    assert_eq!(refused.body["state"], "ready");
    let cancelled = api.post(&format!("{TASKS}/{id}/cancel"), json!({})).await;
    assert_eq!(cancelled.body, json!({"was": "ready"}));
    assert_eq!(retry().await.body, json!({"id": id, "duplicate": false}));
    let (_, key) = take(&api, 1).await;
    api.post(&format!("{TASKS}/{id}/complete"), key).await;
    assert_eq!(
        retry().await.body,
        json!({"id": id + 1, "duplicate": false})
    );
}

#[tokio::test]
async fn key_that_is_in_use_adds_nothing() {
    let (api, _) = api();
    let keyed =
        json!({"tasks": [{"kind": "a", "key": "image 7"}, {"kind": "a", "key": "image 7"}]});
    for duplicate in [false, true] {
        let added = api.post(TASKS, keyed.clone()).await.body;
        let expected = json!([{"id": 1, "duplicate": duplicate}, {"id": 1, "duplicate": true}]);
        assert_eq!(added["tasks"], expected);
    }
}

#[tokio::test]
async fn server_without_tasks_says_so() {
    let api = Api::new();
    assert_eq!(api.get("/v1/capabilities").await.body["tasks"], false);
    let proof = json!({"uuid": uuid(1), "token": 1});
    for answer in [
        api.get(TASKS).await,
        api.post(CLAIM, claim(1)).await,
        api.post(TASKS, json!({"tasks": []})).await,
        api.post(&format!("{TASKS}/1/complete"), proof).await,
        api.get(&format!("{TASKS}/events?queue=a")).await,
        api.post("/v1/prune", json!({"limit": 1})).await,
    ] {
        assert_eq!((answer.status, answer.code()), (404, "not-found"));
        assert_eq!(answer.body["detail"], "this server has no tasks");
    }
    let api = self::api().0;
    assert_eq!(api.get("/v1/capabilities").await.body["tasks"], true);
}

#[tokio::test(start_paused = true)]
async fn store_without_an_answer_is_told_from_one_that_refused() {
    let limits = limits(|limits| limits.call_time = Duration::from_millis(50));
    let store = Watched::new(MemoryTasks::new());
    let api = Api::limited(limits).with_tasks(store.shared());
    let id = add(&api).await;
    let (_, key) = take(&api, 1).await;
    let task = format!("{TASKS}/{id}");
    let periodic =
        json!({"schedule": "s", "instant": "2026-01-01T00:00:00Z", "task": {"kind": "a"}});
    for (fault, status, code) in [
        (Fault::Refuse, 503, "not-applied"),
        (Fault::LoseReply, 504, "unknown"),
        (Fault::Hang, 504, "unknown"),
        (Fault::Fatal, 500, "fatal"),
    ] {
        for (path, body) in [
            (TASKS.to_owned(), json!({"tasks": []})),
            (format!("{TASKS}/periodic"), periodic.clone()),
            (CLAIM.to_owned(), claim(2)),
            (format!("{TASKS}/endings"), json!({"endings": []})),
            (format!("{task}/complete"), with(&key, json!({"output": 1}))),
            (
                format!("{task}/checkpoint"),
                with(&key, json!({"number": 1, "checkpoint": 1})),
            ),
            (format!("{task}/cancel"), json!({})),
            (format!("{task}/retry"), json!({})),
            ("/v1/prune".to_owned(), json!({"limit": 0})),
        ] {
            store.next(fault);
            let answer = api.post(&path, body).await;
            assert_eq!((answer.status, answer.code()), (status, code), "{path}");
            assert_eq!(
                answer.body.get("detail"),
                None,
                "what the store said is for the log"
            );
        }
        for path in [TASKS.to_owned(), format!("{TASKS}/counts"), task.clone()] {
            store.next(fault);
            let answer = api.get(&path).await;
            assert_eq!((answer.status, answer.code()), (status, code), "{path}");
        }
    }
}
