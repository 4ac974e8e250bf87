//! Foreign keys in the bucket, and other changes that NATS may make to its keys.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Provider,
    provider::{Admin, Renew, RenewOutcome},
};
use dlock_nats_proof::{Server, client};
use dlock_proof::stores::{self, aged, granted, is_held, names, released, renewed, term};
use serde_json::json;

use super::{ask, create, put, sent};

const LIMIT: Duration = Duration::from_secs(20);

async fn raw(server: &Server) -> async_nats::Client {
    client(server.address(), LIMIT).await
}

#[tokio::test]
async fn foreign_keys_are_left_alone_and_end_no_list() {
    let server = Server::start().await;
    let (provider, raw) = (server.provider().await, raw(&server).await);
    for name in ["a", "b", "c"] {
        granted(&provider, &term(name)).await;
    }
    for key in [
        "dlock.bb",
        "dlock.b.c",
        "dlock.=2e",
        "dlock.=FF",
        "dlock",
        "dlocks.x",
        "other.x",
    ] {
        put(&raw, &format!("$KV.locks.{key}"), &[], "42").await;
    }
    for limit in 1..6 {
        let (listed, unreadable) = names(&provider, limit).await;
        assert_eq!(listed, ["a", "b", "c"], "pages of {limit}");
        assert_eq!(unreadable, ["bb"], "pages of {limit}");
    }
    let before = ask(&raw, "STREAM.INFO.KV_locks", json!({})).await;
    let error = provider.acquire(&term("bb")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    let after = ask(&raw, "STREAM.INFO.KV_locks", json!({})).await;
    assert_eq!(before["state"]["last_seq"], after["state"]["last_seq"]);
}

/// A record that is gone no longer locks, and its tokens continue: after a deletion that leaves nothing, and after
/// deletions by the tools of NATS, which leave a message.
#[tokio::test]
async fn deleted_key_loses_the_lease_and_keeps_the_order_of_tokens() {
    let server = Server::start().await;
    let (provider, raw) = (server.provider().await, raw(&server).await);
    let cold = server.provider().await;
    for kind in ["gone", "DEL", "PURGE"] {
        let a = term(kind);
        let first = granted(&provider, &a).await;
        let subject = format!("$KV.locks.dlock.{kind}");
        if kind == "gone" {
            let purge = ask(&raw, "STREAM.PURGE.KV_locks", json!({ "filter": subject })).await;
            assert_eq!(purge["purged"], 1);
        } else {
            put(&raw, &subject, &[("KV-Operation", kind)], "").await;
        }
        let renewed = provider.renew(&Renew::new(a.name.clone(), a.new, 1)).await;
        assert_eq!(renewed.unwrap(), RenewOutcome::Lost(None), "{kind}");
        assert_eq!(cold.read(&a.name).await.unwrap(), None, "{kind}");
        let second = granted(&cold, &term(kind)).await;
        assert!(second > first, "{kind}");
        assert!(is_held(&provider, kind).await, "{kind}");
    }
}

#[tokio::test]
async fn each_call_takes_as_many_requests_as_it_says() {
    let server = Server::start().await;
    let raw = raw(&server).await;
    let provider = dlock_nats::provider(raw.clone(), "locks", "dlock").unwrap();
    let other = server.provider().await;
    provider.store().verify().await.unwrap();
    let cost = |before| sent(&raw) - before;

    let a = term("door");
    let before = sent(&raw);
    granted(&provider, &a).await;
    assert_eq!(cost(before), 2, "acquire, cold");
    let before = sent(&raw);
    renewed(&provider, &a, 1).await;
    assert_eq!(cost(before), 1, "renew");
    let before = sent(&raw);
    assert!(is_held(&provider, "door").await);
    assert_eq!(cost(before), 1, "refused");
    let before = sent(&raw);
    released(&provider, &a).await;
    assert_eq!(cost(before), 1, "release");
    let before = sent(&raw);
    let b = term("door");
    granted(&provider, &b).await;
    assert_eq!(cost(before), 1, "acquire of what was seen free");

    // Another client has written since, so the record that this provider has seen is outdated.
    renewed(&other, &b, 1).await;
    let before = sent(&raw);
    renewed(&provider, &b, 2).await;
    assert_eq!(cost(before), 3, "renew of what another has written");
}

#[tokio::test]
async fn purge_deletes_what_was_released_and_is_a_week_past() {
    let server = Server::start().await;
    let (provider, raw) = (server.provider().await, raw(&server).await);
    let age = async |name: &str| age(&raw, "locks", name).await;
    stores::purge_deletes_what_was_released_and_is_a_week_past(&provider, age).await;
    let info = ask(&raw, "STREAM.INFO.KV_locks", json!({})).await;
    assert_eq!(info["state"]["messages"], 2, "nothing is left of it");
}

#[tokio::test]
async fn key_that_changed_is_not_deleted() {
    let server = Server::start().await;
    let provider = server.provider().await;
    dlock_testkit::compare_and_set::deletes_on_a_condition(provider.store(), "another").await;
}

/// Makes a record eight days older than it is.
async fn age(raw: &async_nats::Client, bucket: &str, name: &str) {
    let subject = format!("$KV.{bucket}.dlock.{name}");
    // A reader that requires no acknowledgement returns the message as it was put.
    let stream = async_nats::jetstream::new(raw.clone())
        .get_stream(format!("KV_{bucket}"))
        .await
        .unwrap();
    let found = stream
        .get_last_raw_message_by_subject(&subject)
        .await
        .unwrap();
    let old = aged(str::from_utf8(&found.payload).unwrap());
    put(raw, &subject, &[], &old).await;
}

#[tokio::test]
async fn purge_of_a_bucket_that_denies_it_says_so() {
    let server = Server::bare("").await;
    let raw = raw(&server).await;
    create(&raw, "denied", json!({ "deny_delete": true })).await;
    let provider = dlock_nats::provider(raw.clone(), "denied", "dlock").unwrap();
    let a = term("old");
    granted(&provider, &a).await;
    released(&provider, &a).await;
    age(&raw, "denied", "old").await;
    let error = provider.purge(10).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("deny_delete"), "{error}");
}
