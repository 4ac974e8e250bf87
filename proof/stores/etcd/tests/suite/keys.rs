//! Foreign keys among those of the locks, and other changes that etcd may make to keys.

use std::time::Duration;

use dlock_core::{ErrorKind, Provider};
use dlock_etcd_proof::{Server, client};
use dlock_proof::stores::{self, aged, granted, names, renewed, term};
use etcd_client::{CompactionOptions, DeleteOptions};

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn foreign_keys_are_left_alone_and_end_no_list() {
    let server = Server::start().await;
    let (provider, mut raw) = (
        server.provider().await,
        client(server.address(), LIMIT).await,
    );
    for name in ["a", "b", "c"] {
        granted(&provider, &term(name)).await;
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
        let (listed, unreadable) = names(&provider, limit).await;
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

#[tokio::test]
async fn deleted_key_loses_the_lease_and_keeps_the_order_of_tokens() {
    let server = Server::start().await;
    let provider = server.provider().await;
    stores::deleted_record_loses_the_lease_and_keeps_the_order_of_tokens(&provider, async |_| {
        let mut raw = client(server.address(), LIMIT).await;
        let all = DeleteOptions::new().with_prefix();
        raw.delete("dlock/", Some(all)).await.unwrap();
    })
    .await;
}

/// etcd may drop old versions at any time.
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
        renewed(&provider, &a, n).await;
    }
}

#[tokio::test]
async fn purge_deletes_what_was_released_and_is_a_week_past() {
    let server = Server::start().await;
    let provider = server.provider().await;
    stores::purge_deletes_what_was_released_and_is_a_week_past(&provider, async |name| {
        let mut raw = client(server.address(), LIMIT).await;
        let key = format!("dlock/{name}");
        let found = raw.get(key.clone(), None).await.unwrap();
        let old = aged(found.kvs()[0].value_str().unwrap());
        raw.put(key, old, None).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn key_that_changed_is_not_deleted() {
    let server = Server::start().await;
    let provider = server.provider().await;
    dlock_testkit::compare_and_set::deletes_on_a_condition(provider.store(), "another").await;
}
