//! Tasks.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::advance;

use super::api;
use crate::support::{Api, uuid};

/// A lease has ended after this time.
const LEASE: Duration = Duration::from_millis(30_001);

const NEXT: &str = "POST /api/tasks/next";

fn processor(name: &str) -> Value {
    json!({ "processor": name })
}

fn with(mut body: Value, field: &str, value: &Value) -> Value {
    body[field] = value.clone();
    body
}

/// Adds a task; its number.
async fn add(api: &Api) -> Value {
    let task = api
        .gets("POST /api/tasks", json!({"task_data": {"image": 7}}), 201)
        .await;
    task["id"].clone()
}

async fn ids(api: &Api, list: &str) -> Vec<Value> {
    let answer = api
        .gets(&format!("GET /api/tasks{list}"), Value::Null, 200)
        .await;
    let tasks = answer["tasks"].as_array().unwrap().iter();
    tasks.map(|task| task["id"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn task_is_fetched_kept_and_completed_as_the_sample_says() {
    let api = api();
    assert_eq!(api.gets(NEXT, processor("anna"), 204).await, Value::Null);
    let id = add(&api).await;
    let fetched = api.gets(NEXT, processor("anna"), 202).await;
    assert_eq!(
        (&fetched["id"], &fetched["task_data"]),
        (&id, &json!({"image": 7}))
    );
    assert_eq!(fetched.get("taskData"), None);
    assert_eq!(fetched["processor"], "anna");
    for there in [
        "startedAt",
        "lastHeartBeatAt",
        "mustHeartBeatBefore",
        "claim",
    ] {
        assert_ne!(fetched[there], Value::Null, "{there}");
    }
    assert_eq!(ids(&api, "/started").await, std::slice::from_ref(&id));
    assert!(ids(&api, "/processed").await.is_empty());
    api.gets(NEXT, processor("bert"), 204).await;

    let beat = format!("PUT /api/tasks/{id}/heartbeat");
    advance(LEASE / 2).await;
    let kept = api.gets(&beat, processor("anna"), 202).await;
    assert_eq!(
        (&kept["startedAt"], &kept["claim"]),
        (&fetched["startedAt"], &fetched["claim"])
    );
    // Leases and tasks in memory have separate clocks.
    for moved in ["last_heartbeat_at", "must_heartbeat_before"] {
        assert_ne!(kept[moved], fetched[moved], "{kept}");
    }
    api.gets(&beat, processor("bert"), 409).await;
    advance(LEASE * 3 / 4).await;
    api.gets(NEXT, processor("bert"), 204).await;

    let complete = format!("PUT /api/tasks/{id}/complete");
    let output = json!({"processor": "anna", "task_output": {"ok": true}});
    let done = api.gets(&complete, output.clone(), 202).await;
    assert_eq!(
        (&done["task_output"], &done["processor"]),
        (&json!({"ok": true}), &json!("anna"))
    );
    for there in ["processed_at", "processedAt", "started_at"] {
        assert_ne!(done[there], Value::Null, "{there}");
    }
    assert_eq!(done["must_heartbeat_before"], Value::Null);

    // Once, and the first output stays.
    let other = with(output, "task_output", &json!("another"));
    let twice = api.gets(&complete, other, 409).await;
    assert_eq!(twice["state"], "succeeded");
    let one = api
        .gets(&format!("GET /api/tasks/{id}"), Value::Null, 200)
        .await;
    assert_eq!(one["task_output"], json!({"ok": true}));
    api.gets(&beat, processor("anna"), 409).await;
    assert_eq!(ids(&api, "/processed").await, [id]);
    assert!(ids(&api, "/started").await.is_empty());
}

#[tokio::test]
async fn what_is_not_there_is_never_a_success() {
    let api = api();
    let id = add(&api).await;
    for ending in ["heartbeat", "complete"] {
        api.gets(
            &format!("PUT /api/tasks/999/{ending}"),
            processor("anna"),
            404,
        )
        .await;
        api.gets(
            &format!("PUT /api/tasks/x/{ending}"),
            processor("anna"),
            404,
        )
        .await;
        // It was not fetched.
        api.gets(
            &format!("PUT /api/tasks/{id}/{ending}"),
            processor("anna"),
            409,
        )
        .await;
        let what = format!("PUT /api/tasks/{id}/{ending}");
        for body in [
            json!({}),
            processor(""),
            json!({"processor": "a", "claim": 0}),
        ] {
            api.gets(&what, body, 400).await;
        }
    }
    api.gets("GET /api/tasks/999", Value::Null, 404).await;
    api.gets("GET /api/nothing", Value::Null, 404).await;
    api.gets("DELETE /api/tasks", Value::Null, 405).await;
    let long = processor(&"x".repeat(257));
    for body in [json!({}), processor(""), long, json!({"processor": 1})] {
        api.gets(NEXT, body, 400).await;
    }
    let long = json!({"task_data": "x".repeat(300 * 1024)});
    for body in [json!({}), json!([1]), long] {
        api.gets("POST /api/tasks", body, 400).await;
    }
    // Not from this interface.
    let other = json!({"tasks": [{"kind": "a"}]});
    let other = api.post("/v1/default/tasks", other).await.body["tasks"][0]["id"].clone();
    api.gets(&format!("GET /api/tasks/{other}"), Value::Null, 404)
        .await;
    assert_eq!(ids(&api, "").await, [id]);
}

/// A worker that was paused can neither keep nor complete a task that another one has fetched since.
#[tokio::test(start_paused = true)]
async fn claim_that_is_over_keeps_and_completes_nothing() {
    let api = api();
    let id = add(&api).await;
    let first = api.gets(NEXT, processor("anna"), 202).await;
    let whats = ["heartbeat", "complete"].map(|ending| format!("PUT /api/tasks/{id}/{ending}"));
    advance(LEASE).await;
    // Ended, and not taken yet: the sample refuses that, too.
    for what in &whats {
        let over = api.gets(what, processor("anna"), 409).await;
        assert_eq!(over["error"], "the lease of the task has run out");
    }
    api.gets(NEXT, processor("bert"), 202).await;
    for what in &whats {
        api.gets(what, processor("anna"), 409).await;
        api.gets(what, with(processor("anna"), "claim", &first["claim"]), 409)
            .await;
    }
    api.gets(
        &whats[1],
        json!({"processor": "bert", "task_output": 1}),
        202,
    )
    .await;
}

/// The same where both have one name.
#[tokio::test(start_paused = true)]
async fn workers_of_one_name_are_told_apart_by_their_claims() {
    let api = api();
    let id = add(&api).await;
    let whats = ["heartbeat", "complete"].map(|ending| format!("PUT /api/tasks/{id}/{ending}"));
    let first = api.gets(NEXT, processor("worker"), 202).await;
    // Only one claim can be meant.
    api.gets(&whats[0], processor("worker"), 202).await;
    advance(LEASE).await;
    let second = api.gets(NEXT, processor("worker"), 202).await;
    for what in &whats {
        let unclear = api.gets(what, processor("worker"), 409).await;
        assert_eq!(unclear["code"], "ambiguous");
        let stale = with(processor("worker"), "claim", &first["claim"]);
        assert_eq!(api.gets(what, stale, 409).await["code"], "lost");
    }
    let own = with(processor("worker"), "claim", &second["claim"]);
    api.gets(&whats[0], own.clone(), 202).await;
    advance(LEASE).await;
    // Another name after it is unambiguous again; the first one is not.
    api.gets(NEXT, processor("bert"), 202).await;
    api.gets(&whats[0], processor("bert"), 202).await;
    advance(LEASE).await;
    let fourth = api.gets(NEXT, processor("worker"), 202).await;
    assert_eq!(
        api.gets(&whats[0], processor("worker"), 409).await["code"],
        "ambiguous"
    );
    let own = with(processor("worker"), "claim", &fourth["claim"]);
    api.gets(&whats[1], own, 202).await;
}

#[tokio::test(start_paused = true)]
async fn repeat_of_a_try_gets_the_same_task() {
    let api = api();
    let ids = [add(&api).await, add(&api).await];
    let named = json!({"processor": "anna", "uuid": uuid(1)});
    let first = api.gets(NEXT, named.clone(), 202).await;
    let again = api.gets(NEXT, named, 202).await;
    assert_eq!(
        (&again["id"], &again["claim"]),
        (&first["id"], &first["claim"])
    );
    // It is one claim, so the meaning is clear.
    api.gets(
        &format!("PUT /api/tasks/{}/heartbeat", first["id"]),
        processor("anna"),
        202,
    )
    .await;
    let keyed = api
        .ask_with_key(NEXT, Some("a try"), processor("anna"))
        .await;
    let again = api
        .ask_with_key(NEXT, Some("a try"), processor("anna"))
        .await;
    assert_eq!((&keyed.body["id"], &again.body["id"]), (&ids[1], &ids[1]));
    api.gets(NEXT, processor("anna"), 204).await;

    let add = async |data: u8| {
        let task = json!({"task_data": data});
        let added = api.ask_with_key("POST /api/tasks", Some("a key"), task);
        added.await.body["id"].clone()
    };
    let [first, again, other] = [add(1).await, add(1).await, add(2).await];
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[tokio::test(start_paused = true)]
async fn task_of_later_waits_for_its_time() {
    let api = api();
    let later = json!({"task_data": 1, "scheduled_at": "9000-01-01T00:00:00Z"});
    let task = api.gets("POST /api/tasks", later, 201).await;
    assert_eq!(task["scheduledAt"], "9000-01-01T00:00:00Z");
    api.gets(NEXT, processor("anna"), 204).await;
}

/// No task is skipped, and none is given out twice.
#[tokio::test(start_paused = true)]
async fn many_at_a_time_get_a_task_each() {
    let api = api();
    for _ in 0..30 {
        add(&api).await;
    }
    let ask = |number: usize| {
        let name = format!("worker {number}");
        let api = &api;
        async move {
            api.gets(NEXT, processor(&name), 202).await["id"]
                .as_i64()
                .unwrap()
        }
    };
    let mut got = futures_util::future::join_all((0..30).map(ask)).await;
    got.sort_unstable();
    got.dedup();
    assert_eq!(got.len(), 30);
    api.gets(NEXT, processor("late"), 204).await;
}
