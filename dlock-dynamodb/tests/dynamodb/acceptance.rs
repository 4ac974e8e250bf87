//! What the documents ask for that this store grew from, number by number: 000 (a lease in the
//! background), 001 (the three diagrams), 003 (the lock client's protocol). Wall clocks (000-4, 003-5)
//! are in `src/tests.rs`, the table helper (003-10) in `tests/dynamodb/table.rs`, the three diagrams with a
//! storage that checks the token (001-3) in `tests/dynamodb/fence.rs`.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::{net::SocketAddr, time::Duration};

use aws_sdk_dynamodb::types::AttributeValue;
use dlock_core::{
    DLock, EndCause, Error, Name, Provider, Record, ReleaseEnd, TryAcquire,
    provider::{Acquire, AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_dynamodb::DynamodbProvider;
use dlock_testkit::proxy::{Direction, Proxy};
use tokio::time::{Instant, sleep, timeout};

use crate::common::{
    PATIENCE, client, client_of, item, provider, provider_on, table_name, term, url,
};

const D: Duration = Duration::from_secs(2);

/// A lock as another process has it: its provider shares nothing with the first one's.
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

/// 000-1, 003-1: created only where there is none, with owner, duration, a unique version, and the
/// time of creation for people.
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

/// 000-1, 003-3: a heartbeat is conditional on the holder's own version, and changes it; what an
/// observer saw before is no ground for a takeover any more.
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

/// 003-2, 003-3: a contender learns the holder's version and duration, writes nothing, and waits
/// the *holder's* duration from the last heartbeat it saw, whatever its own is.
#[tokio::test]
async fn a_contender_waits_the_holders_duration_from_its_last_heartbeat() {
    let provider = provider().await;
    let mut holder = lock(&provider, "nightly", 2 * D).acquire().await.unwrap();
    let contender = lock(&provider, "nightly", D / 2);
    let TryAcquire::Held(shown) = contender.try_acquire().await.unwrap() else {
        panic!("taken from a living holder");
    };
    assert_eq!(
        shown.record.version(),
        record(&provider, "nightly").await.version()
    );
    assert_eq!(
        (shown.record.uuid, shown.record.duration),
        (holder.uuid(), 2 * D)
    );
    let waiting = tokio::spawn({
        let contender = contender.clone();
        async move { contender.acquire_timeout(PATIENCE).await }
    });
    // In the middle of the observation the holder is seen alive.
    sleep(D / 2).await;
    holder.renew().await.unwrap();
    let renewed = Instant::now();
    let before = record(&provider, "nightly").await;
    let lease = waiting.await.unwrap().unwrap();
    assert!(renewed.elapsed() >= 2 * D, "after {:?}", renewed.elapsed());
    assert_eq!(
        (before.uuid, before.renewals),
        (holder.uuid(), 1),
        "nobody wrote but the holder"
    );
    assert!(!holder.is_valid());
    let after = record(&provider, "nightly").await;
    assert_eq!((after.uuid, after.duration), (lease.uuid(), D / 2));
    assert!(lease.token() > holder.token());
}

/// 001-2, 003-4: a dead holder is replaced by the first try after one full unchanged duration, and
/// of two contenders one wins.
#[tokio::test]
async fn a_dead_holder_is_replaced_by_one_contender() {
    let provider = provider().await;
    let dead = lock(&provider, "nightly", D).acquire().await.unwrap();
    let began = Instant::now();
    let contend = || {
        let contender = lock(&provider, "nightly", 10 * D);
        tokio::spawn(async move { contender.acquire_timeout(3 * D).await })
    };
    let (one, two) = (contend(), contend());
    let (one, two) = (one.await.unwrap(), two.await.unwrap());
    let (winner, loser) = match (one, two) {
        (Ok(lease), Err(error)) | (Err(error), Ok(lease)) => (lease, error),
        other => panic!("{other:?}"),
    };
    assert!(began.elapsed() >= D);
    assert!(winner.is_valid() && winner.token() > dead.token());
    assert!(matches!(loser, Error::Timeout { .. }), "{loser:?}");
    assert_eq!(record(&provider, "nightly").await.uuid, winner.uuid());
}

/// 003-6: asking once is answered "held" and is no error; asking again and again takes over a dead
/// holder after one duration.
#[tokio::test]
async fn repeated_tries_take_over_a_dead_holder_after_one_duration() {
    let provider = provider().await;
    let _dead = lock(&provider, "nightly", D).acquire().await.unwrap();
    // It waits out the holder's duration, not its own.
    let contender = lock(&provider, "nightly", 10 * D);
    let began = Instant::now();
    let lease = loop {
        assert!(began.elapsed() < PATIENCE, "never taken over");
        match contender.try_acquire().await.unwrap() {
            TryAcquire::Acquired(lease) => break lease,
            TryAcquire::Held(holder) => assert!(!holder.ours),
        }
        sleep(D / 20).await;
    };
    assert!(began.elapsed() >= D, "after {:?}", began.elapsed());
    lease.release().await.unwrap();
}

/// 000-2, 003-7: with a heartbeat of three tenths of its duration a lock is held for as long as the
/// process wants it.
#[tokio::test]
async fn a_heartbeat_keeps_the_lock_as_long_as_it_is_wanted() {
    let provider = provider().await;
    let holder = DLock::builder()
        .name("nightly")
        .duration(D)
        .renew_every(D * 3 / 10)
        .provider(provider.clone())
        .build()
        .unwrap();
    let contender = lock(&provider, "nightly", D);
    let guard = holder.hold().await.unwrap();
    let waited = contender.acquire_timeout(4 * D).await;
    assert!(matches!(waited, Err(Error::Timeout { .. })), "{waited:?}");
    assert!(guard.is_valid());
    let renewals = record(&provider, "nightly").await.renewals;
    assert!(
        (8..=16).contains(&renewals),
        "{renewals} heartbeats in four durations"
    );
    drop(guard);
}

/// 000-2, 003-7: what is dropped or cancelled is given back, long before its lease could have run out.
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
    // It is refused, and waits, before the guard goes.
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

/// 000-3: cut off from the store after acquiring, a holder is exclusive for the time it was granted
/// and is told before that ends; others are not blocked for longer than its duration.
#[tokio::test]
async fn a_holder_that_is_cut_off_is_told_before_another_can_have_it() {
    let server: SocketAddr = url()
        .await
        .strip_prefix("http://")
        .unwrap()
        .parse()
        .unwrap();
    let proxy = Proxy::start(server).await.unwrap();
    let direct = provider().await;
    let through = provider_on(
        client_of(&format!("http://{}", proxy.address())),
        direct.table_name(),
    );
    let guard = lock(&through, "nightly", D).hold().await.unwrap();
    proxy.swallow(Direction::ToServer);
    let contender = lock(&direct, "nightly", D);
    let winning = tokio::spawn(async move { contender.acquire_timeout(PATIENCE).await });
    let loss = timeout(PATIENCE, guard.ended()).await.unwrap();
    assert!(matches!(loss.cause, EndCause::Expired { .. }), "{loss:?}");
    assert!(!winning.is_finished(), "two holders");
    let told = Instant::now();
    let lease = winning.await.unwrap().unwrap();
    assert!(told.elapsed() < 3 * D, "{:?}", told.elapsed());
    assert!(lease.is_valid() && !guard.is_valid());
}

/// 001-1, 003-8: a release is conditional: a stale holder's changes nothing, and is reported.
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
        ReleaseOutcome::Released
    );
    assert!(is_granted(&provider, &term("nightly")).await);
}

/// 003-9: any key, in a table with one key attribute or two; locks do not interact.
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

/// 003-11: data stored with the lock is read without acquiring it, from the record and from a
/// refusal, and stays readable after the release.
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

/// 003-12: the time limit is a total although the holder keeps renewing, and the error says how
/// long it waited and for whom.
#[tokio::test]
async fn the_time_limit_is_a_total_and_the_error_names_the_holder() {
    let provider = provider().await;
    let guard = lock(&provider, "nightly", D).hold().await.unwrap();
    let limit = 3 * D;
    let began = Instant::now();
    let error = lock(&provider, "nightly", D)
        .acquire_timeout(limit)
        .await
        .unwrap_err();
    assert!(
        (limit..limit + D).contains(&began.elapsed()),
        "{:?}",
        began.elapsed()
    );
    let text = error.to_string();
    let Error::Timeout {
        waited,
        holder: Some(holder),
        ..
    } = error
    else {
        panic!("{error:?}");
    };
    assert!((limit..limit + D).contains(&waited), "{waited:?}");
    assert_eq!(
        (holder.record.uuid, &*holder.record.owner),
        (guard.uuid(), "worker-7")
    );
    assert!(text.contains("worker-7"), "{text}");
}
