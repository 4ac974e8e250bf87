//! How claims end and are kept, and the answers about ended ones.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{CLAIM, TASKS, add, api, claim, key, take, with};
use crate::support::{shown, uuid};

/// How a claim can end, the state of the task then, and the body of the ending.
type Way = (&'static str, &'static str, fn() -> Value);

const ENDINGS: [Way; 5] = [
    ("complete", "succeeded", || json!({"output": {"a": null}})),
    (
        "fail",
        "scheduled",
        || json!({"error": "no disk", "retry_in_ms": 60_000}),
    ),
    ("discard", "dead", || json!({"error": "no use"})),
    ("snooze", "scheduled", || json!({"for_ms": 60_000})),
    ("give-back", "ready", || json!({})),
];

#[tokio::test]
async fn repeated_ending_answers_as_the_first_and_anothers_is_lost() {
    for (how, state, more) in ENDINGS {
        let (api, _) = api();
        add(&api).await;
        let (id, key) = take(&api, 1).await;
        let path = format!("{TASKS}/{id}/{how}");
        let stranger = with(&key, json!({"uuid": uuid(9)}));
        let lost = api.post(&path, with(&stranger, more())).await;
        assert_eq!((lost.status, lost.code()), (409, "lost"), "{how}");
        assert_eq!(lost.body["state"], "running");
        for _ in ["first", "repeat"] {
            let ended = api.post(&path, with(&key, more())).await;
            assert_eq!(
                (ended.status, &ended.body),
                (200, &json!({"became": state})),
                "{how}"
            );
        }
        let lost = api.post(&path, with(&stranger, more())).await;
        assert_eq!(
            (lost.status, &lost.body["state"]),
            (409, &json!(state)),
            "{how}"
        );
        let task = api.get(&format!("{TASKS}/{id}")).await.body;
        assert_eq!(task["state"], state, "{how}");
        if how == "complete" {
            assert_eq!(task["output"], json!({"a": null}));
        }
    }
}

#[tokio::test]
async fn endings_of_one_request_are_answered_each_by_itself() {
    let (api, _) = api();
    let mut endings = Vec::new();
    for (number, how) in [
        json!({"complete": {"output": null}}),
        json!({"fail": {"error": "x", "retry_in_ms": 0}}),
        json!({"discard": {"error": "x"}}),
        json!({"snooze": {"for_ms": 60_000}}),
        json!({"give-back": {}}),
        json!({"complete": {}}),
    ]
    .into_iter()
    .enumerate()
    {
        let id = add(&api).await;
        let (taken, key) = take(&api, u32::try_from(number).unwrap()).await;
        assert_eq!(taken, id);
        endings.push(with(&key, json!({"id": id, "how": how})));
    }
    endings[5]["token"] = json!(1);
    for _ in ["first", "repeat"] {
        let body = json!({"endings": endings});
        let answers = api.post(&format!("{TASKS}/endings"), body).await.body["answers"].take();
        let became: Vec<_> = (0..5)
            .map(|index| answers[index]["became"].clone())
            .collect();
        let expected = ["succeeded", "ready", "dead", "scheduled", "ready"];
        assert_eq!(became, expected.map(|state| json!(state)), "{answers}");
        let lost = &answers[5];
        assert_eq!(
            (&lost["code"], &lost["state"]),
            (&json!("lost"), &json!("running"))
        );
    }
}

#[tokio::test]
async fn heartbeats_keep_claims_and_tell_of_those_that_are_over() {
    let (api, _) = api();
    let mut beats = Vec::new();
    for number in 0..3 {
        add(&api).await;
        let (id, key) = take(&api, number).await;
        beats.push(with(&key, json!({"id": id, "n": 1})));
    }
    let cancel = |id: &Value, force: bool| {
        let path = format!("{TASKS}/{id}/cancel");
        let api = &api;
        async move { api.post(&path, json!({"force": force})).await }
    };
    let asked = cancel(&beats[1]["id"], false).await;
    assert_eq!(
        (asked.status, &asked.body),
        (200, &json!({"was": "running"}))
    );
    assert_eq!(cancel(&beats[2]["id"], true).await.status, 200);
    let path = format!("{TASKS}/heartbeat");
    let answers = api.post(&path, json!({"heartbeats": beats})).await.body["answers"].take();
    assert_eq!(answers[0], json!({"asked": false}));
    assert_eq!(answers[1], json!({"asked": true}));
    assert_eq!(
        (&answers[2]["code"], &answers[2]["state"]),
        (&json!("lost"), &json!("cancelled"))
    );
    assert_eq!(answers.as_array().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn heartbeat_extends_a_lease_and_none_revives_one() {
    let (api, _) = api();
    add(&api).await;
    let claimed = api
        .post(CLAIM, with(&claim(1), json!({"lease_ms": 1_000})))
        .await;
    let (id, key) = key(1, &claimed);
    let beat = async |n: u64| {
        let beat = with(&key, json!({"id": id, "n": n}));
        let body = json!({"heartbeats": [beat]});
        api.post(&format!("{TASKS}/heartbeat"), body).await.body["answers"][0].take()
    };
    for n in 1..=3 {
        sleep(Duration::from_millis(700)).await;
        assert_eq!(beat(n).await, json!({"asked": false}));
    }
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(beat(4).await["state"], "stalled");
    assert_eq!(take(&api, 2).await.0, id);
}

#[tokio::test]
async fn checkpoint_reaches_the_next_attempt_and_a_late_one_does_not() {
    let (api, _) = api();
    let id = add(&api).await;
    let (_, first) = take(&api, 1).await;
    let path = format!("{TASKS}/{id}/checkpoint");
    let left = json!({"number": 1, "checkpoint": null});
    assert_eq!(
        api.post(&path, with(&first, left.clone())).await.status,
        200
    );
    let back = api
        .post(&format!("{TASKS}/{id}/give-back"), first.clone())
        .await;
    assert_eq!(back.status, 200);
    let second = api.post(CLAIM, claim(2)).await;
    // A checkpoint of `null` is not a missing one.
    assert_eq!(
        second.body["tasks"][0].get("checkpoint"),
        Some(&Value::Null)
    );
    let late = api.post(&path, with(&first, left)).await;
    assert_eq!(
        (late.status, late.code(), &late.body["state"]),
        (409, "lost", &json!("running"))
    );
}

/// A claim is a lease, and can be read and given back as one.
#[tokio::test]
async fn claim_is_read_and_released_as_a_lease() {
    let (api, _) = api();
    let id = add(&api).await;
    let (_, key) = take(&api, 1).await;
    let token = &key["token"];
    let lease = api
        .get(&format!("{TASKS}/lease?id={id}&token={token}"))
        .await;
    assert_eq!((lease.status, &lease.body["uuid"]), (200, &json!(shown(1))));
    let other = api.get(&format!("{TASKS}/lease?id={id}&token=7")).await;
    assert_eq!((other.status, other.code()), (404, "not-found"));
    let body = with(&key, json!({"id": id}));
    for _ in ["first", "repeat"] {
        assert_eq!(
            api.post(&format!("{TASKS}/release"), body.clone())
                .await
                .status,
            200
        );
    }
    let (again, _) = take(&api, 2).await;
    assert_eq!(again, id);
    let late = api.post(&format!("{TASKS}/release"), body).await;
    assert_eq!((late.status, late.code()), (409, "not-held"));
    assert_eq!(late.body["record"]["uuid"], shown(2));
}
