//! The requirements from which this store grew: a lease in the background, three scenes with two contenders, and the
//! lock client's protocol. Wall clocks are in `src/tests.rs`, the table helper in `tests/dynamodb/table.rs`, the scene
//! with a storage that checks the token in `tests/dynamodb/fence.rs`. Cases that take time are in the published suites,
//! which this crate passes on a table, and in the frontend's cases, whose time is virtual.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use dlock_core::{
    DLock, Name, Provider, Record, ReleaseEnd, TryAcquire,
    provider::{Acquire, AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_dynamodb::DynamodbProvider;
use tokio::time::{sleep, timeout};

use crate::common::{PATIENCE, client, item, provider, table_name, term};

const D: Duration = Duration::from_secs(2);

/// A lock in another process: its provider shares nothing with the first one's.
fn lock(provider: &DynamodbProvider, name: &str, duration: Duration) -> DLock {
    DLock::builder()
        .name(name)
        .owner("worker-7")
        .duration(duration)
        .provider(provider.with_prefix("").unwrap())
        .build()
        .unwrap()
}

async fn record(provider: &DynamodbProvider, name: &str) -> Record {
    provider
        .read(&Name::new(name).unwrap())
        .await
        .unwrap()
        .unwrap()
}

async fn held(provider: &DynamodbProvider, request: &Acquire) -> Record {
    match provider.acquire(request).await.unwrap() {
        AcquireOutcome::Held(record) => record,
        other => panic!("{other:?}"),
    }
}

async fn is_granted(provider: &DynamodbProvider, request: &Acquire) -> bool {
    matches!(
        provider.acquire(request).await.unwrap(),
        AcquireOutcome::Acquired(_)
    )
}

/// A lock is created only if there is none, with owner, duration, a unique version, and the time of creation for
/// people.
#[tokio::test]
async fn a_new_lock_is_created_only_if_absent() {
    let provider = provider().await;
    let a = term("nightly");
    assert!(is_granted(&provider, &a).await);
    let stored = item(&client().await, provider.table_name(), "nightly")
        .await
        .unwrap();
    let record = record(&provider, "nightly").await;
    assert_eq!(stored["owner"], AttributeValue::S("a contender".into()));
    assert_eq!(stored["duration"], AttributeValue::N("600000".into()));
    assert_eq!(stored["uuid"], AttributeValue::S(a.new.to_string()));
    assert_eq!(stored["renewals"], AttributeValue::N("0".into()));
    assert_eq!(
        stored["since"], stored["token"],
        "a first token is the time in microseconds"
    );
    assert_eq!(
        (record.uuid, record.renewals, record.duration),
        (a.new, 0, a.duration)
    );
    let other = term("nightly");
    assert_eq!(held(&provider, &other).await, record);
    assert_eq!(
        item(&client().await, provider.table_name(), "nightly").await,
        Some(stored)
    );
}

/// A heartbeat is conditional on the holder's own version, and changes it; an observer's earlier view no longer
/// justifies a takeover.
#[tokio::test]
async fn a_heartbeat_changes_the_version_it_is_conditional_on() {
    let provider = provider().await;
    let a = term("nightly");
    provider.acquire(&a).await.unwrap();
    let seen = record(&provider, "nightly").await.version();
    let renewed = provider
        .renew(&Renew::new(a.name.clone(), a.new, 1))
        .await
        .unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
    let now = record(&provider, "nightly").await.version();
    assert_ne!(now, seen);
    assert!(!is_granted(&provider, &term("nightly").prev(Some(seen))).await);
    assert!(is_granted(&provider, &term("nightly").prev(Some(now))).await);
    let late = provider
        .renew(&Renew::new(a.name.clone(), a.new, 2))
        .await
        .unwrap();
    assert!(matches!(late, RenewOutcome::Lost(Some(record)) if record.uuid != a.new));
}

/// A lock that is dropped or cancelled is released, long before its lease could have run out.
#[tokio::test]
async fn a_dropped_guard_is_given_back_long_before_its_lease_ends() {
    const LONG: Duration = Duration::from_secs(10 * PATIENCE.as_secs());
    let provider = provider().await;
    let holder = lock(&provider, "nightly", LONG);
    let contender = lock(&provider, "nightly", LONG);
    let guard = holder.hold().await.unwrap();
    let waiting = {
        let contender = contender.clone();
        tokio::spawn(async move { contender.acquire_timeout(LONG).await })
    };
    // The attempt is refused, and waits, before the guard is dropped.
    sleep(D / 2).await;
    assert!(!waiting.is_finished());
    drop(guard);
    let next = timeout(PATIENCE, waiting).await.unwrap().unwrap();
    next.unwrap().release().await.unwrap();

    let working = holder.with(|_| std::future::pending::<()>());
    timeout(D / 2, working).await.unwrap_err();
    let next = timeout(PATIENCE, contender.acquire()).await.unwrap();
    next.unwrap().release().await.unwrap();
}

/// A release is conditional: a stale holder's changes nothing, and is reported.
#[tokio::test]
async fn a_stale_release_changes_nothing_and_is_reported() {
    let provider = provider().await;
    // Long, so that a slow store has time to answer.
    let stale = lock(&provider, "nightly", 10 * D).acquire().await.unwrap();
    let seen = record(&provider, "nightly").await.version();
    let b = term("nightly").prev(Some(seen));
    assert!(is_granted(&provider, &b).await);
    let before = record(&provider, "nightly").await;
    let ended = stale.release().await.unwrap();
    assert!(
        matches!(&ended, ReleaseEnd::NotHeld(Some(shown)) if *shown == before),
        "{ended:?}"
    );
    assert_eq!(record(&provider, "nightly").await, before);
    let release = Release::new(b.name.clone(), b.new, None);
    assert_eq!(
        provider.release(&release).await.unwrap(),
        ReleaseOutcome::Released { wanted: false }
    );
    assert!(is_granted(&provider, &term("nightly")).await);
}

/// Locks of any key do not interact, in a table with one key attribute or two.
#[tokio::test]
async fn locks_of_any_key_do_not_interact() {
    let names = ["a", "A", "a/b", "/a", "a b", "ä", "#1", "🔒", "a\nb"];
    let one_key = provider().await;
    let composite = DynamodbProvider::builder()
        .client(client().await)
        .table_name(table_name())
        .partition_key("pk")
        .sort_key("sk")
        .prefix("LOCK#billing")
        .attempt_timeout(PATIENCE)
        .call_timeout(PATIENCE)
        .build()
        .unwrap();
    composite.create_table().await.unwrap();
    for provider in [one_key, composite] {
        let mut terms = Vec::new();
        for name in names {
            let a = term(name);
            assert!(is_granted(&provider, &a).await, "{name:?}");
            terms.push(a);
        }
        let released = &terms[0];
        let release = Release::new(released.name.clone(), released.new, None);
        provider.release(&release).await.unwrap();
        for a in &terms[1..] {
            let record = provider.read(&a.name).await.unwrap().unwrap();
            assert_eq!((record.uuid, record.released), (a.new, false), "{}", a.name);
        }
    }
}

/// Data stored with the lock is read without acquiring it, from the record and from a refusal, and stays readable after
/// the release.
#[tokio::test]
async fn data_is_readable_without_acquiring() {
    let provider = provider().await;
    let holder = DLock::builder()
        .name("nightly")
        .data(b"http://10.0.0.7:8080".to_vec())
        .duration(D)
        .provider(provider.clone())
        .build()
        .unwrap();
    let lease = holder.acquire().await.unwrap();
    let data = Some(b"http://10.0.0.7:8080".to_vec());
    assert_eq!(record(&provider, "nightly").await.data, data);
    let contender = lock(&provider, "nightly", 10 * D);
    let TryAcquire::Held(shown) = contender.try_acquire().await.unwrap() else {
        panic!("taken from a living holder");
    };
    assert_eq!(shown.record.data, data);
    lease.release().await.unwrap();
    assert_eq!(record(&provider, "nightly").await.data, data);
    // The next holder brings its own, or none.
    let next = lock(&provider, "nightly", D).acquire().await.unwrap();
    assert_eq!(record(&provider, "nightly").await.data, None);
    next.release().await.unwrap();
}
