//! Grants of several tokens: asked for in the query, and told to those alone who asked.

use serde_json::{Value, json};

use crate::support::{ACQUIRE, Answer, Api, acquire};

async fn asked(api: &Api, query: &str, body: Value) -> Answer {
    api.post(&format!("{ACQUIRE}?{query}"), body).await
}

#[tokio::test]
async fn grant_brings_as_many_tokens_as_the_query_says() {
    let api = Api::new();
    let answer = asked(&api, "tokens=16", acquire("door", 1)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["tokens"], json!(16));
    // The last one is the record's. A repeat is told of it alone.
    let repeat = asked(&api, "tokens=16", acquire("door", 1)).await;
    let record = api.get("/v1/default/leases/one?name=door").await;
    for body in [&repeat.body, &record.body] {
        assert_eq!(body["token"], answer.body["token"]);
        assert_eq!(body.get("tokens"), None);
    }
}

/// As of an earlier release, whose clients ask for no number, and refuse no answer that has none.
#[tokio::test]
async fn grant_of_one_token_is_answered_as_ever() {
    let api = Api::new();
    let plain = api.post(ACQUIRE, acquire("door", 1)).await;
    let one = asked(&api, "tokens=1", acquire("gate", 2)).await;
    for Answer { status, body, .. } in [plain, one] {
        let fields: Vec<_> = body.as_object().unwrap().keys().collect();
        assert_eq!(status, 200);
        assert_eq!(fields, ["token", "waited_ms"]);
    }
}

/// So a client of a later release may ask for more than this server knows of.
#[tokio::test]
async fn query_that_is_not_known_is_not_looked_at() {
    let api = Api::new();
    let answer = asked(&api, "leases=3&tokens=2", acquire("door", 1)).await;
    assert_eq!((answer.status, &answer.body["tokens"]), (200, &json!(2)));
}

#[tokio::test]
async fn number_that_no_grant_can_have_is_refused() {
    let api = Api::new();
    for tokens in ["0", "129", "256", "-1", "x", ""] {
        let answer = asked(&api, &format!("tokens={tokens}"), acquire("door", 1)).await;
        assert_eq!(
            (answer.status, answer.code()),
            (400, "bad-request"),
            "{tokens}"
        );
    }
    assert_eq!(api.store.calls().len(), 0, "a store was asked");
}
