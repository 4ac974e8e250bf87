//! Leases.

use std::time::{Duration, SystemTime};

use dlock_core::{ErrorKind, Name, Provider, provider::Acquire};
use dlock_testkit::{
    faults::{Fault, Op},
    memory::MemoryStore,
};
use serde_json::{Value, json};
use tokio::time::advance;
use uuid::Uuid;

use super::{RELEASE, RENEW, TAKE, api, api_before_locks, door};
use crate::support::{Api, uuid};

/// A lease has ended after this time.
const LEASE: Duration = Duration::from_millis(30_001);

async fn resources(api: &Api, path: &str) -> Vec<String> {
    let answer = api.gets(&format!("GET {path}"), Value::Null, 200).await;
    let leases = answer["leases"].as_array().unwrap().iter();
    leases
        .map(|lease| lease["resource"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn lease_is_taken_renewed_and_released_as_the_sample_says() {
    let api = api();
    let taken = api.gets(TAKE, door("anna"), 201).await;
    assert_eq!(
        (&taken["resource"], &taken["holder"]),
        (&json!("door"), &json!("anna"))
    );
    for none in ["renewed_at", "renewedAt", "released_at", "releasedAt"] {
        assert_eq!(taken[none], Value::Null, "{none}");
    }
    assert_eq!(taken["created_at"], taken["createdAt"]);
    assert_ne!(taken["expires_at"], Value::Null);

    let held = api.ask(TAKE, door("bert")).await;
    assert_eq!((held.status, held.code()), (409, "held"));
    assert_eq!(held.body["error"], "the resource is leased by \"anna\"");
    assert_eq!(held.body["record"]["owner"], "anna");
    // Its holder gets no second lease either.
    api.gets(TAKE, door("anna"), 409).await;

    advance(LEASE / 2).await;
    let renewed = api.gets(RENEW, door("anna"), 201).await;
    assert_eq!(
        (&renewed["id"], &renewed["token"]),
        (&taken["id"], &taken["token"])
    );
    assert_ne!(renewed["renewed_at"], Value::Null);
    api.gets(RENEW, door("bert"), 404).await;
    advance(LEASE * 3 / 4).await;
    api.gets(TAKE, door("bert"), 409).await;

    api.gets(RELEASE, door("bert"), 404).await;
    let released = api.gets(RELEASE, door("anna"), 201).await;
    assert_ne!(released["released_at"], Value::Null);
    assert_eq!(released["renewed_at"], renewed["renewed_at"]);
    api.gets(RELEASE, door("anna"), 404).await;
    api.gets(RENEW, door("anna"), 404).await;

    let next = api.gets(TAKE, door("bert"), 201).await;
    assert_eq!(next["id"], taken["id"], "a takeover keeps the number");
    assert_eq!(next["released_at"], Value::Null);
    assert!(next["token"].as_u64() > taken["token"].as_u64());
}

fn instant(row: &Value, name: &str) -> SystemTime {
    let time: dlock_http::Time = serde_json::from_value(row[name].clone()).unwrap();
    time.0
}

/// Of a store whose clock is an hour ahead.
#[tokio::test(start_paused = true)]
async fn all_instants_of_a_row_are_by_the_clock_of_the_store() {
    let store = MemoryStore::store_clock();
    store.wall_forward(Duration::from_secs(3_600));
    let api = api_before_locks(&store);
    let taken = api.gets(TAKE, door("anna"), 201).await;
    assert_eq!(
        instant(&taken, "expires_at"),
        instant(&taken, "created_at") + Duration::from_secs(30)
    );
    advance(LEASE / 2).await;
    api.gets(RENEW, door("anna"), 201).await;
    for list in ["/renewed", "/active", ""] {
        let what = format!("GET /api/leases{list}");
        let row = api.gets(&what, Value::Null, 200).await["leases"][0].clone();
        let renewed = instant(&row, "renewed_at");
        assert_eq!(
            instant(&row, "expires_at"),
            renewed + Duration::from_secs(30)
        );
        let late = renewed.duration_since(instant(&row, "created_at")).unwrap();
        assert!(
            (LEASE / 2 - Duration::from_millis(2)..LEASE).contains(&late),
            "{row}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn looks_write_nothing() {
    let store = MemoryStore::store_clock();
    let api = api_before_locks(&store);
    let taken = api.gets(TAKE, door("anna"), 201).await;
    api.gets(RENEW, door("anna"), 201).await;
    let other = json!({"name": "gate", "uuid": uuid(1), "duration_ms": 30_000});
    assert_eq!(api.post(crate::support::ACQUIRE, other).await.status, 200);
    let (writes, added) = (store.writes(), || async {
        let added = api
            .gets("POST /api/tasks", json!({"task_data": 1}), 201)
            .await;
        added["id"].as_i64().unwrap()
    });
    let first = added().await;
    for list in ["", "/active", "/expired", "/renewed", "/released"] {
        assert!(resources(&api, &format!("/api/leases{list}")).await.len() <= 2);
    }
    let one = format!("GET /api/leases/{}", taken["id"]);
    api.gets(&one, Value::Null, 200).await;
    assert_eq!(store.writes(), writes);
    // Nor did it add a task.
    assert_eq!(added().await, first + 1);
}

#[tokio::test(start_paused = true)]
async fn lease_that_has_run_out_can_be_taken_and_not_be_renewed() {
    let api = api();
    api.gets(TAKE, door("anna"), 201).await;
    advance(LEASE).await;
    assert_eq!(resources(&api, "/api/leases/expired").await, ["door"]);
    api.gets(RENEW, door("anna"), 404).await;
    api.gets(RELEASE, door("anna"), 404).await;
    api.gets(TAKE, door("bert"), 201).await;
    api.gets(RENEW, door("anna"), 404).await;
    assert!(resources(&api, "/api/leases/expired").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn lists_have_what_they_are_called() {
    let api = api();
    let meant = |resource: &str| json!({"resource": resource, "holder": "anna"});
    for resource in ["a", "b", "c", "d"] {
        api.gets(TAKE, meant(resource), 201).await;
    }
    advance(LEASE / 2).await;
    api.gets(RENEW, meant("b"), 201).await;
    let released = api.gets(RELEASE, meant("c"), 201).await;
    advance(LEASE * 2 / 3).await;
    api.gets(TAKE, meant("d"), 201).await;
    for (list, expected) in [
        ("", &["a", "b", "c", "d"][..]),
        ("/active", &["b", "d"]),
        ("/expired", &["a"]),
        ("/renewed", &["b"]),
        ("/released", &["c"]),
        ("?after=b", &["c", "d"]),
    ] {
        let path = format!("/api/leases{list}");
        assert_eq!(resources(&api, &path).await, expected, "{path}");
    }
    let list = api.gets("GET /api/leases/released", Value::Null, 200).await;
    assert_eq!(list["leases"][0], released, "as it was answered");
}

#[tokio::test(start_paused = true)]
async fn number_is_of_a_resource_and_no_refusal_uses_one() {
    let api = api();
    let first = api.gets(TAKE, door("anna"), 201).await;
    for _ in 0..5 {
        api.gets(TAKE, door("bert"), 409).await;
        api.gets(RENEW, door("bert"), 404).await;
        api.gets(RENEW, json!({"resource": "none", "holder": "anna"}), 404)
            .await;
        api.gets(TAKE, json!({"resource": "", "holder": "anna"}), 400)
            .await;
    }
    let second = api
        .gets(TAKE, json!({"resource": "gate", "holder": "anna"}), 201)
        .await;
    assert_eq!(second["id"].as_i64(), first["id"].as_i64().map(|id| id + 1));
    let id = &first["id"];
    let one = format!("/api/leases/{id}");
    assert_eq!(
        api.gets(&format!("GET {one}"), Value::Null, 200).await,
        first
    );
    api.gets("GET /api/leases/999", Value::Null, 404).await;
    api.gets("GET /api/leases/x", Value::Null, 404).await;

    let delete = format!("DELETE {one}");
    api.gets(&delete, door("bert"), 404).await;
    api.gets(&delete, json!({"resource": "gate", "holder": "anna"}), 404)
        .await;
    let done = api.gets(&delete, door("anna"), 200).await;
    assert_eq!(done["message"], format!("lease {id} is released"));
    api.gets(&delete, door("anna"), 404).await;
}

/// A task has a number, too, and is not a lease, whatever it says.
#[tokio::test]
async fn number_of_a_task_is_no_number_of_a_lease() {
    let api = api();
    let gate = json!({"resource": "gate", "holder": "anna"});
    api.gets(TAKE, gate, 201).await;
    let task = api
        .gets("POST /api/tasks", json!({"task_data": "default/gate"}), 201)
        .await;
    let id = &task["id"];
    api.gets(&format!("GET /api/leases/{id}"), Value::Null, 404)
        .await;
    let lease = api.gets(TAKE, door("anna"), 201).await;
    let id = &lease["id"];
    api.gets(&format!("GET /api/tasks/{id}"), Value::Null, 404)
        .await;
}

#[tokio::test(start_paused = true)]
async fn repeat_after_a_lost_answer_is_the_same_try() {
    let api = api();
    let mut named = door("anna");
    named["uuid"] = json!(uuid(1));
    let first = api.gets(TAKE, named.clone(), 201).await;
    assert_eq!(api.gets(TAKE, named.clone(), 201).await, first);
    let released = api.gets(RELEASE, named.clone(), 201).await;
    advance(LEASE).await;
    assert_eq!(api.gets(RELEASE, named.clone(), 201).await, released);

    let key = Some("a try");
    let keyed = api.ask_with_key(TAKE, key, door("anna")).await;
    assert_eq!(keyed.status, 201);
    assert_eq!(api.ask_with_key(TAKE, key, door("anna")).await, keyed);
    let other = api.ask_with_key(TAKE, Some("another"), door("anna")).await;
    assert_eq!(other.code(), "held");
    // The earlier term cannot be meant any more.
    api.gets(RENEW, named.clone(), 404).await;
    api.gets(RELEASE, named, 404).await;
}

/// Acquired, but without an answer (A2).
#[tokio::test(start_paused = true)]
async fn answer_that_the_store_lost_is_found_by_a_repeat() {
    let api = api();
    let mut named = door("anna");
    named["uuid"] = json!(uuid(1));
    api.store.next(Op::Acquire, Fault::UNKNOWN_AFTER);
    api.gets(TAKE, named.clone(), 504).await;
    api.gets(TAKE, named.clone(), 201).await;
    // It was done, even if the store refuses to show it.
    api.gets(RELEASE, named, 201).await;
    for read in [Fault::DelayReply(Duration::ZERO), Fault::THROTTLED] {
        api.store.next(Op::Read, read);
    }
    api.gets(TAKE, door("anna"), 504).await;
    api.gets(RENEW, door("anna"), 201).await;
}

#[tokio::test(start_paused = true)]
async fn release_that_failed_leaves_the_lease_as_it_was() {
    let api = api();
    api.gets(TAKE, door("anna"), 201).await;
    api.store
        .always(Op::Release, Fault::FailBefore(ErrorKind::NotApplied));
    api.gets(RELEASE, door("anna"), 503).await;
    api.store.clear();
    assert_eq!(resources(&api, "/api/leases/active").await, ["door"]);
    let one = api.gets("GET /api/leases", Value::Null, 200).await;
    assert_eq!(one["leases"][0]["released_at"], Value::Null);
    api.gets(RENEW, door("anna"), 201).await;
    api.gets(RELEASE, door("anna"), 201).await;
}

#[tokio::test]
async fn what_lacks_a_field_is_refused() {
    let api = api();
    for what in [TAKE, RENEW, RELEASE, "DELETE /api/leases/1"] {
        for body in [
            json!({}),
            json!({"resource": "door"}),
            json!({"holder": "anna"}),
            json!({"resource": "", "holder": "anna"}),
            json!({"resource": "door", "holder": ""}),
            json!({"resource": "door\0", "holder": "anna"}),
            json!({"resource": "door", "holder": "anna", "duration": 1}),
        ] {
            api.gets(what, body, 400).await;
        }
    }
    let long = json!({"resource": "x".repeat(1_003), "holder": "anna"});
    let refused = api.gets(TAKE, long, 400).await;
    assert_eq!(refused["error"], "a resource has at most 1002 bytes");
    let long = json!({"resource": "x".repeat(1_002), "holder": "anna"});
    api.gets(TAKE, long.clone(), 201).await;
    api.gets(RELEASE, long, 201).await;
}

#[tokio::test(start_paused = true)]
async fn release_of_another_interface_has_no_time_here() {
    let api = api();
    let first = api.gets(TAKE, door("anna"), 201).await;
    api.gets(RELEASE, door("anna"), 201).await;
    let other = json!({"name": "door", "uuid": uuid(1), "duration_ms": 30_000});
    assert_eq!(api.post(crate::support::ACQUIRE, other).await.status, 200);
    let other = json!({"name": "door", "uuid": uuid(1)});
    assert_eq!(api.post(crate::support::RELEASE, other).await.status, 200);
    let list = api.gets("GET /api/leases/released", Value::Null, 200).await;
    for none in ["id", "renewed_at", "released_at", "expires_at"] {
        assert_eq!(list["leases"][0][none], Value::Null, "{list}");
    }
    let one = format!("GET /api/leases/{}", first["id"]);
    assert_eq!(
        api.gets(&one, Value::Null, 200).await["released_at"],
        Value::Null
    );
}

#[tokio::test]
async fn list_goes_on_where_it_ended() {
    let api = api();
    for number in 0..5_600 {
        let name = Name::new(format!("default/{number:04}")).unwrap();
        let acquire = Acquire::new(name, Uuid::from_u128(number + 1), LEASE);
        api.store.acquire(&acquire).await.unwrap();
    }
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let list = format!("GET /api/leases{after}");
        let page = api.gets(&list, Value::Null, 200).await;
        let leases = page["leases"].as_array().unwrap();
        found.extend(leases.iter().map(|lease| lease["resource"].clone()));
        match page["next"].as_str() {
            Some(next) => after = format!("?after={next}"),
            None => break,
        }
    }
    let all: Vec<_> = (0..5_600).map(|number| format!("{number:04}")).collect();
    assert_eq!(found, all);
}

/// Its holder counts its renewals itself, and would believe a renewal that was counted here.
#[tokio::test]
async fn lease_that_was_taken_by_another_interface_is_left_alone() {
    let api = api();
    let other = json!({"name": "door", "uuid": uuid(1), "duration_ms": 30_000, "owner": "anna"});
    assert_eq!(
        api.post("/v1/default/leases/acquire", other).await.status,
        200
    );
    api.gets(RENEW, door("anna"), 404).await;
    api.gets(RELEASE, door("anna"), 404).await;
    assert_eq!(resources(&api, "/api/leases/active").await, ["door"]);
}

#[tokio::test]
async fn lease_is_one_of_the_namespace_default() {
    let api = api();
    let taken = api.gets(TAKE, door("anna"), 201).await;
    let one = api.get("/v1/default/leases/one?name=door").await;
    assert_eq!((one.status, &one.body["uuid"]), (200, &taken["uuid"]));
    let listed = api.get("/v1/default/leases").await.body;
    assert_eq!(listed["leases"].as_array().unwrap().len(), 1, "{listed}");
    assert!(instant(&taken, "created_at") <= SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40));
}
