//! Grants of several tokens.

use serde_json::{Value, json};

use crate::support::{ACQUIRE, Api, acquire};

fn with_tokens(name: &str, uuid: u32, tokens: Value) -> Value {
    let mut body = acquire(name, uuid);
    body["tokens"] = tokens;
    body
}

#[tokio::test]
async fn grant_brings_as_many_tokens_as_were_asked_for() {
    let api = Api::new();
    let sixteen = with_tokens("door", 1, json!(16));
    let answer = api.post(ACQUIRE, sixteen.clone()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["tokens"], json!(16));
    // The last one is the record's, and a repeat shows it alone.
    let repeat = api.post(ACQUIRE, sixteen).await;
    let record = api.get("/v1/default/leases/one?name=door").await;
    for body in [&repeat.body, &record.body] {
        assert_eq!(body["token"], answer.body["token"]);
        assert_eq!(body.get("tokens"), None);
    }
}

#[tokio::test]
async fn number_that_no_grant_can_have_is_refused() {
    let api = Api::new();
    for tokens in [json!(0), json!(129), json!(256), json!(-1), json!("1")] {
        let answer = api
            .post(ACQUIRE, with_tokens("door", 1, tokens.clone()))
            .await;
        assert_eq!(
            (answer.status, answer.code()),
            (400, "bad-request"),
            "{tokens}"
        );
    }
    assert_eq!(api.store.calls().len(), 0, "a store was asked");
}
