//! What else may be in the bucket, and what else NATS may do to its keys.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Provider,
    provider::{AcquireOutcome, Admin, List, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_nats_proof::{Server, client};
use serde_json::json;

use super::{ask, create, put, sent, term};

const LIMIT: Duration = Duration::from_secs(20);

async fn raw(server: &Server) -> async_nats::Client {
    client(server.address(), LIMIT).await
}

#[tokio::test]
async fn names_that_look_alike_are_locks_of_their_own() {
    let server = Server::start().await;
    let provider = server.provider().await;
    let names = [
        "a/b",
        "a//b",
        "a/b/",
        "/a/b",
        "a.b",
        "a..b",
        ".a.b",
        "a.b.",
        "a b",
        "a\tb",
        "a\r\nb",
        "a*b",
        "a>",
        "*",
        ">",
        "a=2Eb",
        "a=b",
        "=",
        "A/B",
        "\u{e9}",
        "e\u{301}",
        "\u{1f512}",
        "$KV",
        "a%2Fb",
    ];
    for name in names {
        let granted = provider.acquire(&term(name)).await.unwrap();
        assert!(
            matches!(granted, AcquireOutcome::Acquired(_)),
            "{name:?}: {granted:?}"
        );
    }
    let other = provider.with_prefix("a").unwrap();
    let granted = other.acquire(&term("b")).await.unwrap();
    assert!(
        matches!(granted, AcquireOutcome::Acquired(_)),
        "{granted:?}"
    );
    let page = provider.list(&List::new("").limit(100)).await.unwrap();
    let mut listed: Vec<_> = page.records.iter().map(|(name, _)| name.as_str()).collect();
    let mut expected = names.to_vec();
    expected.sort_unstable();
    assert_eq!(listed, expected, "in the order of their bytes");
    listed.dedup();
    assert_eq!(listed.len(), names.len());
}

#[tokio::test]
async fn foreign_keys_are_left_alone_and_end_no_list() {
    let server = Server::start().await;
    let (provider, raw) = (server.provider().await, raw(&server).await);
    for name in ["a", "b", "c"] {
        provider.acquire(&term(name)).await.unwrap();
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
        let (mut listed, mut unreadable, mut after) = (Vec::new(), Vec::new(), None);
        loop {
            let request = List::new("").after(after).limit(limit);
            let page = provider.list(&request).await.unwrap();
            listed.extend(page.records.into_iter().map(|(name, _)| name.to_string()));
            unreadable.extend(
                page.unreadable
                    .into_iter()
                    .map(|(name, _)| name.to_string()),
            );
            after = page.next;
            assert!(listed.len() <= 3, "pages repeat: {listed:?}");
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, ["a", "b", "c"], "pages of {limit}");
        assert_eq!(unreadable, ["bb"], "pages of {limit}");
    }
    let before = ask(&raw, "STREAM.INFO.KV_locks", json!({})).await;
    let error = provider.acquire(&term("bb")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    let after = ask(&raw, "STREAM.INFO.KV_locks", json!({})).await;
    assert_eq!(before["state"]["last_seq"], after["state"]["last_seq"]);
}

/// A record that is gone is no lock any more, and its tokens go on: after a deletion that leaves nothing, and after
/// those of the tools of NATS, which leave a message.
#[tokio::test]
async fn deleted_key_loses_the_lease_and_keeps_the_order_of_tokens() {
    let server = Server::start().await;
    let (provider, raw) = (server.provider().await, raw(&server).await);
    let cold = server.provider().await;
    for kind in ["gone", "DEL", "PURGE"] {
        let a = term(kind);
        let AcquireOutcome::Acquired(tokens) = provider.acquire(&a).await.unwrap() else {
            panic!("nobody else is here");
        };
        let first = tokens.last();
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
        let b = term(kind);
        let AcquireOutcome::Acquired(tokens) = cold.acquire(&b).await.unwrap() else {
            panic!("nobody else is here");
        };
        let second = tokens.last();
        assert!(second > first, "{kind}");
        let refused = provider.acquire(&term(kind)).await.unwrap();
        assert!(
            matches!(refused, AcquireOutcome::Held(_)),
            "{kind}: {refused:?}"
        );
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
    provider.acquire(&a).await.unwrap();
    assert_eq!(cost(before), 2, "acquire, cold");
    let before = sent(&raw);
    provider
        .renew(&Renew::new(a.name.clone(), a.new, 1))
        .await
        .unwrap();
    assert_eq!(cost(before), 1, "renew");
    let before = sent(&raw);
    let refused = provider.acquire(&term("door")).await.unwrap();
    assert!(matches!(refused, AcquireOutcome::Held(_)), "{refused:?}");
    assert_eq!(cost(before), 1, "refused");
    let before = sent(&raw);
    let released = provider
        .release(&Release::new(a.name.clone(), a.new, None))
        .await;
    assert_eq!(released.unwrap(), ReleaseOutcome::Released);
    assert_eq!(cost(before), 1, "release");
    let before = sent(&raw);
    let b = term("door");
    provider.acquire(&b).await.unwrap();
    assert_eq!(cost(before), 1, "acquire of what was seen free");

    // Somebody else wrote since: what this provider has seen is outdated.
    other
        .renew(&Renew::new(b.name.clone(), b.new, 1))
        .await
        .unwrap();
    let before = sent(&raw);
    let renewed = provider
        .renew(&Renew::new(b.name.clone(), b.new, 2))
        .await
        .unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
    assert_eq!(cost(before), 3, "renew of what another has written");
}

#[tokio::test]
async fn purge_deletes_what_was_released_and_is_a_week_past() {
    let server = Server::start().await;
    let (provider, raw) = (server.provider().await, raw(&server).await);
    for name in ["old", "held", "young"] {
        let a = term(name);
        provider.acquire(&a).await.unwrap();
        if name != "held" {
            let release = Release::new(a.name, a.new, None);
            provider.release(&release).await.unwrap();
        }
        if name == "young" {
            continue;
        }
        age(&raw, "locks", name).await;
    }
    assert_eq!(provider.purge(100).await.unwrap(), 1);
    let page = provider.list(&List::new("")).await.unwrap();
    let left: Vec<_> = page.records.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(left, ["held", "young"]);
    let info = ask(&raw, "STREAM.INFO.KV_locks", json!({})).await;
    assert_eq!(info["state"]["messages"], 2, "nothing is left of it");
}

/// Makes a record eight days older than it is.
async fn age(raw: &async_nats::Client, bucket: &str, name: &str) {
    let subject = format!("$KV.{bucket}.dlock.{name}");
    // A reader that waits for no acknowledgement shows the message as it was put.
    let stream = async_nats::jetstream::new(raw.clone())
        .get_stream(format!("KV_{bucket}"))
        .await
        .unwrap();
    let found = stream
        .get_last_raw_message_by_subject(&subject)
        .await
        .unwrap();
    let mut text = String::from_utf8(found.payload.to_vec()).unwrap();
    for field in ["since", "token"] {
        let (before, rest) = text.split_once(&format!("\"{field}\":")).unwrap();
        let (micros, after) = rest.split_once(',').unwrap();
        let micros: u64 = micros.parse().unwrap();
        let aged = micros - 8 * 24 * 60 * 60 * 1_000_000;
        text = format!("{before}\"{field}\":{aged},{after}");
    }
    put(raw, &subject, &[], &text).await;
}

#[tokio::test]
async fn purge_of_a_bucket_that_denies_it_says_so() {
    let server = Server::bare("").await;
    let raw = raw(&server).await;
    create(&raw, "denied", json!({ "deny_delete": true })).await;
    let provider = dlock_nats::provider(raw.clone(), "denied", "dlock").unwrap();
    let a = term("old");
    provider.acquire(&a).await.unwrap();
    provider
        .release(&Release::new(a.name, a.new, None))
        .await
        .unwrap();
    age(&raw, "denied", "old").await;
    let error = provider.purge(10).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("deny_delete"), "{error}");
}
