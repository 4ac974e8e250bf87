//! What else may be among the keys, and what else etcd may do to them.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Name, Provider,
    provider::{Acquire, AcquireOutcome, Admin, List, Release, Renew, RenewOutcome},
};
use dlock_etcd_proof::{Server, client};
use etcd_client::{CompactionOptions, DeleteOptions};
use uuid::Uuid;

const LIMIT: Duration = Duration::from_secs(20);

fn term(name: &str) -> Acquire {
    let name = Name::new(name).unwrap();
    Acquire::new(name, Uuid::new_v4(), Duration::from_secs(60))
}

#[tokio::test]
async fn foreign_keys_are_left_alone_and_end_no_list() {
    let server = Server::start().await;
    let (provider, mut raw) = (
        server.provider().await,
        client(server.address(), LIMIT).await,
    );
    for name in ["a", "b", "c"] {
        provider.acquire(&term(name)).await.unwrap();
    }
    raw.put("dlock/bb", "42", None).await.unwrap();
    for key in [
        &b"dlock/a\xff"[..],
        b"dlock/b\xff\xfe",
        b"dlock",
        b"dlock0",
        b"other/x",
    ] {
        raw.put(key, "42", None).await.unwrap();
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
    let error = provider.acquire(&term("bb")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal);
    assert_eq!(
        raw.get("dlock/bb", None).await.unwrap().kvs()[0].value(),
        b"42"
    );
}

/// A record that is gone is no lock any more, and its tokens go on.
#[tokio::test]
async fn deleted_key_loses_the_lease_and_keeps_the_order_of_tokens() {
    let server = Server::start().await;
    let (provider, mut raw) = (
        server.provider().await,
        client(server.address(), LIMIT).await,
    );
    let a = term("door");
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&a).await.unwrap() else {
        panic!("nobody else is here");
    };
    let first = tokens.last();
    let all = DeleteOptions::new().with_prefix();
    raw.delete("dlock/", Some(all)).await.unwrap();
    let renewed = provider.renew(&Renew::new(a.name.clone(), a.new, 1)).await;
    assert_eq!(renewed.unwrap(), RenewOutcome::Lost(None));
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&term("door")).await.unwrap() else {
        panic!("nobody else is here");
    };
    let second = tokens.last();
    assert!(second > first);
}

/// Old versions may go at any time.
#[tokio::test]
async fn compaction_changes_nothing() {
    let server = Server::start().await;
    let (provider, mut raw) = (
        server.provider().await,
        client(server.address(), LIMIT).await,
    );
    let a = term("door");
    provider.acquire(&a).await.unwrap();
    for n in 1..=5 {
        let revision = raw.get("dlock/door", None).await.unwrap();
        let revision = revision.header().unwrap().revision();
        let options = CompactionOptions::new().with_physical();
        raw.compact(revision, Some(options)).await.unwrap();
        let renewed = provider.renew(&Renew::new(a.name.clone(), a.new, n)).await;
        assert_eq!(renewed.unwrap(), RenewOutcome::Renewed { asked: false });
    }
}

#[tokio::test]
async fn purge_deletes_what_was_released_and_is_a_week_past() {
    let server = Server::start().await;
    let (provider, mut raw) = (
        server.provider().await,
        client(server.address(), LIMIT).await,
    );
    for name in ["old", "held", "young"] {
        let a = term(name);
        provider.acquire(&a).await.unwrap();
        if name != "held" {
            provider
                .release(&Release::new(a.name, a.new, None))
                .await
                .unwrap();
        }
        if name == "young" {
            continue;
        }
        // Eight days ago, by its own account.
        let key = format!("dlock/{name}");
        let found = raw.get(key.clone(), None).await.unwrap();
        let mut text = found.kvs()[0].value_str().unwrap().to_owned();
        for field in ["since", "token"] {
            let (before, rest) = text.split_once(&format!("\"{field}\":")).unwrap();
            let (micros, after) = rest.split_once(',').unwrap();
            let micros: u64 = micros.parse().unwrap();
            let aged = micros - 8 * 24 * 60 * 60 * 1_000_000;
            text = format!("{before}\"{field}\":{aged},{after}");
        }
        raw.put(key, text, None).await.unwrap();
    }
    assert_eq!(provider.purge(100).await.unwrap(), 1);
    let page = provider.list(&List::new("")).await.unwrap();
    let left: Vec<_> = page.records.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(left, ["held", "young"]);
}
