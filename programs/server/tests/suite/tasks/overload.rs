//! Which requests are shed, and which never are.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use dlock_testkit::tasks::memory::MemoryTasks;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{CLAIM, TASKS, Watched, add, claim, store::Fault, take, with};
use crate::support::{Api, limits, uuid};

#[tokio::test(start_paused = true)]
async fn heartbeats_and_endings_pass_when_claims_take_all_of_the_store() {
    let store = Watched::new(MemoryTasks::new());
    let api = Api::limited(limits(|limits| limits.calls = 8)).with_tasks(store.shared());
    let id = add(&api).await;
    let (_, key) = take(&api, 1).await;
    store.let_claims_hang();
    let crowd = (2..40).map(|number| api.post(CLAIM, claim(number)));
    let worker = async {
        // The crowd's first calls are in flight.
        sleep(Duration::from_millis(100)).await;
        let beat = with(&key, json!({"id": id, "n": 1}));
        let beat = api
            .post(&format!("{TASKS}/heartbeat"), json!({"heartbeats": [beat]}))
            .await;
        let left = with(&key, json!({"number": 1, "checkpoint": 1}));
        let left = api.post(&format!("{TASKS}/{id}/checkpoint"), left).await;
        let list = api.get(TASKS).await;
        let new = api.post(TASKS, json!({"tasks": [{"kind": "a"}]})).await;
        // The current state of the task is not looked up now.
        let other = with(&key, json!({"uuid": uuid(9)}));
        let lost = api.post(&format!("{TASKS}/{id}/complete"), other).await;
        let done = api
            .post(&format!("{TASKS}/{id}/complete"), key.clone())
            .await;
        assert_eq!([beat.status, left.status, done.status], [200; 3]);
        assert_eq!(beat.body["answers"][0], json!({"asked": false}));
        assert_eq!([list.code(), new.code()], ["overloaded"; 2]);
        assert_eq!(
            (lost.status, lost.code(), lost.body.get("state")),
            (409, "lost", None)
        );
    };
    let (crowd, ()) = tokio::join!(futures_util::future::join_all(crowd), worker);
    let shed = crowd.iter().filter(|answer| answer.code() == "overloaded");
    let unanswered = crowd.iter().filter(|answer| answer.code() == "unknown");
    assert_eq!((shed.count(), unanswered.count()), (30, 8));
}

#[tokio::test]
async fn rate_holds_back_new_tasks_and_no_ending() {
    let store = Watched::new(MemoryTasks::new());
    let limits = limits(|limits| limits.rate = Some(3));
    let mut api = Api::limited(limits).with_tasks(store.shared());
    add(&api).await;
    let (id, key) = take(&api, 1).await;
    // printf %s secret | sha256sum
    api.restrict(
        "[[token]]\nname = \"somebody\"\nrights = { default = [\"enqueue\", \"work\"] }\n\
         sha256 = \"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\"",
    );
    api.token = Some("secret".to_owned());
    let began = Instant::now();
    let mut admitted = 0;
    for _ in 0..200 {
        let new = json!({"tasks": [{"kind": "a"}]});
        admitted += u32::from(api.post(TASKS, new).await.status != 429);
        admitted += u32::from(api.post(CLAIM, claim(2)).await.status != 429);
    }
    // Those of one second at once, and then as many as the elapsed time allows.
    let most = 3.0 + 3.0 * began.elapsed().as_secs_f64();
    assert!(f64::from(admitted) <= most, "{admitted} of {most}");
    for n in 1..20 {
        let beat = with(&key, json!({"id": id, "n": n}));
        let body = json!({"heartbeats": [beat]});
        assert_eq!(
            api.post(&format!("{TASKS}/heartbeat"), body).await.status,
            200
        );
        let done = api
            .post(&format!("{TASKS}/{id}/complete"), key.clone())
            .await;
        assert_eq!(done.status, 200);
    }
}

/// The size of one claim's answer is bounded, and the worker learns that there is more.
#[tokio::test]
async fn claim_ends_when_its_answer_is_large() {
    for (size, expected) in [(30_000, 35), (10, 120)] {
        let api = Api::new().with_tasks(Arc::new(MemoryTasks::new()));
        let task = json!({"kind": "a", "payload": "x".repeat(size)});
        for _ in 0..6 {
            let tasks = json!({"tasks": vec![task.clone(); 20]});
            assert_eq!(api.post(TASKS, tasks).await.status, 200);
        }
        let mut greedy = claim(1);
        greedy["max"] = json!(10_000);
        let claimed = api.post(CLAIM, greedy.clone()).await;
        let tasks = claimed.body["tasks"].as_array().unwrap();
        assert_eq!(tasks.len(), expected);
        assert_eq!(claimed.body["next_ms"] == 0, expected < 120);
        // A repeat gets all that it holds, and then more.
        greedy["again"] = json!(true);
        let again = api.post(CLAIM, greedy).await;
        let again = again.body["tasks"].as_array().unwrap();
        assert_eq!(again[..expected], tasks[..]);
        let numbers: BTreeSet<_> = again.iter().map(|task| task["id"].as_i64()).collect();
        assert_eq!(numbers.len(), again.len());
    }
}

/// The tasks of earlier parts are leased to the client, which learns of them at once or by a repeat.
#[tokio::test]
async fn claim_whose_second_part_fails_loses_no_task() {
    for (fault, status, first) in [(Fault::Refuse, 200, 8), (Fault::LoseReply, 504, 0)] {
        let store = Watched::new(MemoryTasks::new());
        let api = Api::new().with_tasks(store.shared());
        let tasks = json!({"tasks": vec![json!({"kind": "a"}); 120]});
        assert_eq!(api.post(TASKS, tasks).await.status, 200);
        let mut greedy = claim(1);
        greedy["max"] = json!(10_000);
        store.second(fault);
        let claimed = api.post(CLAIM, greedy.clone()).await;
        assert_eq!(claimed.status, status, "{claimed:?}");
        let tasks = claimed.body["tasks"].as_array();
        assert_eq!(tasks.map_or(0, Vec::len), first);
        assert!(first == 0 || claimed.body["next_ms"] == 0);
        greedy["again"] = json!(true);
        let again = api.post(CLAIM, greedy).await;
        let tasks = again.body["tasks"].as_array().unwrap();
        assert_eq!(tasks.len(), 120);
        assert!(tasks.iter().all(|task| task["attempt"] == 1));
    }
}
