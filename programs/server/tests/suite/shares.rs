//! How much of a server one token may have, where there are several.

use std::{future::Future, pin::Pin, time::Duration};

use axum::{
    body::Body,
    http::{Request, header},
    response::Response,
};
use dlock_server::Rights;
use dlock_testkit::faults::{Fault, Op};
use futures_util::FutureExt;
use serde_json::{Value, json};

use crate::support::{ACQUIRE, Answer, Api, acquire, limits, uuid};

// printf %s secret | sha256sum
pub(crate) const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
// printf %s other | sha256sum
pub(crate) const OTHER: &str = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa";

fn entry(name: &str, hash: &str, more: &str) -> String {
    format!(
        "[[token]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nrights = {{ \"*\" = [\"hold\", \"read\"] }}\n{more}\n"
    )
}

/// Two tokens, `secret` and `other`.
fn two(more: &str) -> String {
    entry("greedy", SECRET, more) + &entry("modest", OTHER, "")
}

fn of(token: &str, method: &str, path: &str, body: &Value) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}

/// Waits for a lease that another client has.
fn waiting<'api>(
    api: &'api Api,
    token: &str,
    number: u32,
) -> Pin<Box<dyn Future<Output = Answer> + 'api>> {
    let mut body = acquire("door", number);
    body["wait_ms"] = json!(20_000);
    Box::pin(api.send(of(token, "POST", ACQUIRE, &body)))
}

/// How many of this many waits of a token are not refused; returns the remaining ones.
fn waits<'api>(
    api: &'api Api,
    token: &str,
    numbers: std::ops::Range<u32>,
) -> Vec<Pin<Box<dyn Future<Output = Answer> + 'api>>> {
    let mut waits = Vec::new();
    for number in numbers {
        let mut wait = waiting(api, token, number);
        match (&mut wait).now_or_never() {
            None => waits.push(wait),
            Some(answer) => {
                assert_eq!((answer.status, answer.code()), (429, "too-many"));
                assert_eq!(answer.headers["retry-after"], "1");
            }
        }
    }
    waits
}

async fn api_with(rights: &str, set: impl FnOnce(&mut dlock_server::Limits)) -> Api {
    let api = Api::limited(limits(set));
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    api.restrict(rights);
    api
}

#[tokio::test(start_paused = true)]
async fn one_token_leaves_half_of_the_waits_to_others() {
    let api = api_with(&two(""), |limits| limits.waits = 8).await;
    let greedy = waits(&api, "secret", 10..20);
    assert_eq!(greedy.len(), 4);
    assert_eq!(waits(&api, "other", 20..24).len(), 4);
    drop(greedy);
    assert_eq!(waits(&api, "secret", 30..34).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn token_that_is_alone_or_says_so_has_another_share() {
    let set = |limits: &mut dlock_server::Limits| limits.waits = 8;
    for (rights, most) in [
        (entry("alone", SECRET, ""), 8),
        (two("share = 100"), 8),
        (two("share = 25"), 2),
        // At least one.
        (two("share = 1"), 1),
    ] {
        let api = api_with(&rights, set).await;
        assert_eq!(waits(&api, "secret", 10..10 + most).len(), most as usize);
    }
    let api = api_with(&two(""), |limits| {
        limits.waits = 8;
        limits.share = 75;
    })
    .await;
    assert_eq!(waits(&api, "secret", 10..20).len(), 6);
}

/// A view is kept until its next read is due, even when its stream was left at once.
#[tokio::test(start_paused = true)]
async fn streams_that_are_left_at_once_close_the_dashboard_to_no_other() {
    let api = api_with(&two(""), |limits| limits.streams = 4).await;
    let live = |token, prefix| {
        let path = format!("/v1/default/leases/live?prefix={prefix}");
        of(token, "GET", &path, &Value::Null)
    };
    for prefix in 0..50 {
        let answer = api.open(live("secret", prefix)).await;
        let expected = if prefix < 12 { 200 } else { 429 };
        assert_eq!(answer.status(), expected, "{prefix}");
    }
    assert_eq!(api.open(live("other", 50)).await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn one_token_leaves_half_of_the_streams_to_others() {
    let api = api_with(&two(""), |limits| limits.streams = 4).await;
    let mut open: Vec<Response> = Vec::new();
    for (token, statuses) in [("secret", [200, 200, 429]), ("other", [200, 200, 429])] {
        for status in statuses {
            let live = of(token, "GET", "/v1/default/leases/live", &Value::Null);
            let answer = api.open(live).await;
            assert_eq!(answer.status(), status, "{token}");
            open.push(answer);
        }
    }
}

/// Calls that hang; the renewals of the same token pass.
#[tokio::test(start_paused = true)]
async fn one_token_takes_no_calls_from_others() {
    let api = api_with(&two(""), |limits| limits.calls = 8).await;
    api.store.always(Op::Acquire, Fault::LoseRequest);
    let mut calls = Vec::new();
    for number in 10..20 {
        let body = acquire("window", number);
        let mut call = Box::pin(api.send(of("secret", "POST", ACQUIRE, &body)));
        match (&mut call).now_or_never() {
            None => calls.push(call),
            Some(answer) => assert_eq!(answer.status, 429),
        }
    }
    assert_eq!(calls.len(), 2);
    // Lists are refused first when there are many calls.
    let list = of("other", "GET", "/v1/default/leases", &Value::Null);
    assert_eq!(api.send(list).await.status, 200);
    let renew = json!({"name": "door", "uuid": uuid(1), "n": 1});
    let renew = of("secret", "POST", "/v1/default/leases/renew", &renew);
    assert_eq!(api.send(renew).await.status, 200);
    let mut call = Box::pin(api.send(of("other", "POST", ACQUIRE, &acquire("window", 20))));
    assert!((&mut call).now_or_never().is_none());
    // A call runs to its end after its client has gone.
    drop(calls);
    let look = || {
        of(
            "secret",
            "GET",
            "/v1/default/leases/one?name=door",
            &Value::Null,
        )
    };
    assert_eq!(api.send(look()).await.status, 429);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(api.send(look()).await.status, 200);
}

#[tokio::test]
async fn one_token_leaves_memory_to_others() {
    let api = api_with(&two(""), |limits| limits.memory = 100 * 1024).await;
    let large = json!({ "name": "x".repeat(60 * 1024) });
    let path = "/v1/default/leases/ask";
    let greedy = api.send(of("secret", "POST", path, &large)).await;
    assert_eq!((greedy.status, greedy.code()), (429, "too-many"));
    let api = api_with(&entry("alone", SECRET, ""), |limits| {
        limits.memory = 100 * 1024;
    })
    .await;
    let alone = api.send(of("secret", "POST", path, &large)).await;
    assert_eq!(alone.status, 400);
}

/// The file of tokens is read again while requests are in flight.
#[tokio::test(start_paused = true)]
async fn reload_leaves_a_client_what_it_has() {
    let set = |limits: &mut dlock_server::Limits| limits.waits = 8;
    let api = api_with(&two(""), set).await;
    let held = waits(&api, "secret", 10..20);
    assert_eq!(held.len(), 4);
    api.restrict(&(two("") + &entry("third", &"0".repeat(64), "")));
    assert!(waits(&api, "secret", 20..22).is_empty());
    assert_eq!(waits(&api, "other", 30..32).len(), 2);
    drop(held);
    assert_eq!(waits(&api, "secret", 40..44).len(), 4);
    // An entry with another share begins anew.
    api.restrict(&two("share = 25"));
    assert_eq!(waits(&api, "secret", 50..53).len(), 2);
}

#[test]
fn share_that_is_none_is_refused() {
    for wrong in ["share = 0", "share = 101", "share = \"half\"", "rate = 0"] {
        assert!(Rights::parse(&two(wrong)).is_err(), "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn entry_says_its_own_rate() {
    let api = api_with(&two("rate = 2"), |limits| limits.rate = Some(4)).await;
    for (token, most) in [("secret", 2), ("other", 4)] {
        let mut answered = 0;
        for _ in 0..10 {
            let look = of(
                token,
                "GET",
                "/v1/default/leases/one?name=door",
                &Value::Null,
            );
            answered += usize::from(api.send(look).await.status == 200);
        }
        // As many as within a second, and then more as time passes.
        assert!(answered >= most && answered < 10, "{token}: {answered}");
    }
}
