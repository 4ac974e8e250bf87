//! Contents of a namespace are seen and changed in no other (N2).

use std::sync::Arc;

use dlock_sqlite::tasks::SqliteTasks;
use serde_json::{Value, json};

use super::{CLAIM, TASKS, add, api, claim, take, with};
use crate::support::{Answer, Api, uuid};

const OTHER: &str = "/v1/default-2/tasks";

async fn post(api: &Api, path: &str, body: Value) -> Answer {
    api.post(&format!("{OTHER}/{path}"), body).await
}

#[tokio::test]
async fn task_of_another_namespace_is_as_if_it_were_not_there() {
    let (api, _) = api();
    let id = add(&api).await;
    let none = api.get(&format!("{OTHER}/99")).await;
    let read = api.get(&format!("{OTHER}/{id}")).await;
    assert_eq!(
        (read.status, read.code(), &read.body),
        (404, "not-found", &none.body)
    );
    for change in ["cancel", "retry"] {
        let refused = post(&api, &format!("{id}/{change}"), json!({})).await;
        assert_eq!(
            (refused.status, &refused.body),
            (404, &none.body),
            "{change}"
        );
    }
    assert_eq!(api.get(OTHER).await.body, json!({"tasks": []}));
    assert_eq!(
        api.get(&format!("{OTHER}?queue=default")).await.body,
        json!({"tasks": []})
    );
    assert_eq!(
        api.get(&format!("{OTHER}/counts")).await.body,
        json!({"counts": []})
    );
    assert_eq!(post(&api, "claim", claim(1)).await.status, 204);
    let task = api.get(&format!("{TASKS}/{id}")).await.body;
    assert_eq!(
        (&task["state"], &task["queue"]),
        (&json!("ready"), &json!("default"))
    );
    let counts = api.get(&format!("{TASKS}/counts")).await.body;
    let expected = json!([{"queue": "default", "state": "ready", "tasks": 1}]);
    assert_eq!(counts["counts"], expected);
}

/// Numbers can be guessed. A client that tries them from another namespace learns nothing: neither whether the task
/// exists, nor what it is doing, nor which worker has it.
#[tokio::test]
async fn guessed_claims_of_another_namespace_tell_nothing() {
    let (api, _) = api();
    let id = add(&api).await;
    let (_, key) = take(&api, 1).await;
    let guess = with(&key, json!({"uuid": uuid(2)}));
    let numbered = |id: i64, more: Value| with(&with(&guess, more), json!({"id": id}));
    let tell = async |id: i64| {
        let mut told = Vec::new();
        for (how, more) in [
            ("complete", json!({})),
            ("give-back", json!({})),
            ("checkpoint", json!({"number": 1, "checkpoint": 1})),
        ] {
            told.push(
                post(&api, &format!("{id}/{how}"), with(&guess, more))
                    .await
                    .body,
            );
        }
        let ending = numbered(id, json!({"how": {"give-back": {}}}));
        told.push(
            post(&api, "endings", json!({"endings": [ending]}))
                .await
                .body,
        );
        let beat = numbered(id, json!({"n": 1}));
        told.push(
            post(&api, "heartbeat", json!({"heartbeats": [beat]}))
                .await
                .body,
        );
        told.push(post(&api, "release", numbered(id, json!({}))).await.body);
        let token = &key["token"];
        told.push(
            api.get(&format!("{OTHER}/lease?id={id}&token={token}"))
                .await
                .body,
        );
        told
    };
    let (there, nowhere) = (tell(id).await, tell(99).await);
    assert_eq!(there, nowhere);
    assert_eq!(there[0]["code"], "lost");
    // In its own namespace the same guess is answered with the state of the task.
    let lost = api.post(&format!("{TASKS}/{id}/complete"), guess).await;
    assert_eq!(lost.body["state"], "running");
}

/// Not every store checks to which queues a repeat belongs.
#[tokio::test]
async fn repeat_of_a_claim_shows_no_task_of_another_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = SqliteTasks::open(folder.path().join("tasks.db")).unwrap();
    let api = Api::new().with_tasks(Arc::new(tasks));
    add(&api).await;
    take(&api, 1).await;
    let again = with(&claim(1), json!({"again": true}));
    assert_eq!(post(&api, "claim", again.clone()).await.status, 204);
    assert_eq!(api.post(CLAIM, again).await.status, 200);
}

/// However many tasks other namespaces have.
#[tokio::test(start_paused = true)]
async fn empty_namespace_has_one_page() {
    let (api, _) = api();
    let some = json!({"tasks": vec![json!({"kind": "a"}); 3_000]});
    for _ in 0..5 {
        assert_eq!(api.post(OTHER, some.clone()).await.status, 200);
    }
    let page = api.get(TASKS).await.body;
    assert_eq!(page, json!({"tasks": []}));
}

/// Without a queue the pages are searched for among the tasks of all namespaces.
#[tokio::test]
async fn pages_go_on_where_others_tasks_lie_between() {
    let (api, _) = api();
    let some = |number: usize| json!({"tasks": vec![json!({"kind": "a"}); number]});
    let mut own = Vec::new();
    for round in 0..3 {
        let added = api.post(TASKS, some(2 + round)).await.body;
        let ids = added["tasks"].as_array().unwrap().iter();
        own.extend(ids.map(|task| task["id"].clone()));
        assert_eq!(api.post(OTHER, some(1_200)).await.status, 200);
    }
    let (mut seen, mut after, mut pages) = (Vec::new(), Value::Null, 0);
    loop {
        let from = if after.is_null() {
            String::new()
        } else {
            format!("&after={after}")
        };
        let page = api.get(&format!("{TASKS}?limit=3{from}")).await.body;
        let tasks = page["tasks"].as_array().unwrap();
        assert!(tasks.len() <= 3);
        seen.extend(tasks.iter().map(|task| task["id"].clone()));
        pages += 1;
        assert!(pages < 20, "{page}");
        after = page["next"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(seen, own);
    assert!(
        pages > 3,
        "one page was to end in the middle of others' tasks"
    );
    // Of one queue, a page has all there is.
    let page = api
        .get(&format!("{TASKS}?queue=default&limit=9"))
        .await
        .body;
    assert_eq!(page["tasks"].as_array().unwrap().len(), 9);
}

#[tokio::test]
async fn schedules_of_one_namespace_are_not_those_of_another() {
    let (api, _) = api();
    let periodic = |instant: &str| json!({"schedule": "nightly", "instant": instant, "task": {"kind": "report"}});
    let serve = async |base: &str, instant: &str| {
        api.post(&format!("{base}/periodic"), periodic(instant))
            .await
            .body
    };
    assert_eq!(
        serve(TASKS, "2026-01-01T00:00:00Z").await,
        json!({"served": "begun"})
    );
    let served = serve(TASKS, "2026-01-02T00:00:00Z").await;
    assert_eq!(
        served,
        json!({"served": "enqueued", "id": 1, "duplicate": false})
    );
    assert_eq!(
        serve(TASKS, "2026-01-02T00:00:00Z").await,
        json!({"served": "before"})
    );
    assert_eq!(
        serve(OTHER, "2026-01-02T00:00:00Z").await,
        json!({"served": "begun"})
    );
    let early = serve(TASKS, "2999-01-01T00:00:00Z").await;
    assert_eq!(early["served"], "not-yet");
}
