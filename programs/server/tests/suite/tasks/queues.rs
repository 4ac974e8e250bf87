//! Paused queues, and queues with a limit.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{CLAIM, add, api, claim, take, waiting};
use crate::support::Api;

const QUEUES: &str = "/v1/default/queues";

async fn set(api: &Api, paused: bool) {
    let set = api
        .put(QUEUES, json!({"queue": "default", "paused": paused}))
        .await;
    assert_eq!((set.status, &set.body), (200, &json!({})), "{set:?}");
}

#[tokio::test(start_paused = true)]
async fn paused_queue_gives_nothing_until_it_is_resumed() {
    let (api, _) = api();
    let id = add(&api).await;
    set(&api, true).await;
    assert_eq!(api.post(CLAIM, claim(1)).await.status, 204);
    let listed = api.get(QUEUES).await.body;
    assert_eq!(listed["paused"][0]["queue"], "default");
    let start = Instant::now();
    let (waited, ()) = tokio::join!(api.post(CLAIM, waiting(2, 20_000)), async {
        sleep(Duration::from_millis(3_050)).await;
        set(&api, false).await;
    });
    assert_eq!(waited.body["tasks"][0]["id"], id, "{waited:?}");
    assert!((3_050..3_070).contains(&start.elapsed().as_millis()));
    assert_eq!(
        api.get(QUEUES).await.body,
        json!({"paused": [], "limits": []})
    );
}

#[tokio::test]
async fn queue_of_another_namespace_is_another_one() {
    let (api, _) = api();
    add(&api).await;
    let other = "/v1/default-2/queues";
    let pause = |queue: &str| json!({"queue": queue, "paused": true});
    assert_eq!(api.put(other, pause("default")).await.status, 200);
    assert_eq!(
        api.get(QUEUES).await.body,
        json!({"paused": [], "limits": []})
    );
    assert_eq!(
        api.get(other).await.body["paused"][0]["queue"],
        json!("default")
    );
    take(&api, 1).await;
}

#[tokio::test]
async fn what_is_no_queue_is_refused() {
    let (api, _) = api();
    for (body, status) in [
        (json!({"queue": "", "paused": true}), 400),
        (json!({"queue": "q".repeat(121), "paused": true}), 400),
        (json!({"queue": "a\0b", "paused": true}), 400),
        (json!({"queue": "default"}), 400),
        (json!({"queue": "default", "paused": true, "for": 1}), 400),
        (json!({"queue": "default", "limit": 0}), 400),
        (json!({"queue": "default", "limit": -1}), 400),
        (json!({"queue": "", "limit": 1}), 400),
        (Value::Null, 400),
    ] {
        let refused = api.put(QUEUES, body.clone()).await;
        assert_eq!(refused.status, status, "{body}: {refused:?}");
    }
    assert_eq!(
        api.get(QUEUES).await.body,
        json!({"paused": [], "limits": []})
    );
}

#[tokio::test(start_paused = true)]
async fn limited_queue_gives_as_many_as_it_may() {
    let (api, _) = api();
    let limit = async |limit: Value| {
        let body = json!({"queue": "default", "limit": limit});
        let set = api.put(QUEUES, body).await;
        assert_eq!((set.status, &set.body), (200, &json!({})), "{set:?}");
    };
    let ids = [add(&api).await, add(&api).await, add(&api).await];
    limit(json!(1)).await;
    let listed = api.get(QUEUES).await.body;
    let expected = json!({"paused": [], "limits": [{"queue": "default", "limit": 1}]});
    assert_eq!(listed, expected);
    assert_eq!(api.get("/v1/other/queues").await.body["limits"], json!([]));
    assert_eq!(take(&api, 1).await.0, ids[0]);
    assert_eq!(api.post(CLAIM, claim(2)).await.status, 204);
    let (waited, ()) = tokio::join!(api.post(CLAIM, waiting(2, 20_000)), async {
        sleep(Duration::from_millis(3_050)).await;
        limit(json!(2)).await;
    });
    assert_eq!(waited.body["tasks"][0]["id"], ids[1], "{waited:?}");
    // Both at once; a setting that is not given stays.
    let both = json!({"queue": "default", "paused": true, "limit": 5});
    assert_eq!(api.put(QUEUES, both).await.status, 200);
    set(&api, false).await;
    assert_eq!(api.get(QUEUES).await.body["limits"][0]["limit"], 5);
    limit(Value::Null).await;
    assert_eq!(take(&api, 3).await.0, ids[2]);
    assert_eq!(
        api.get(QUEUES).await.body,
        json!({"paused": [], "limits": []})
    );
}
