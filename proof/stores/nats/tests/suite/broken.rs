//! A server that is killed, gone, or silent.

use std::time::Duration;

use dlock_core::{
    DLock, ErrorKind, Provider,
    provider::{AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_nats_proof::{BUCKET, Server, client, provider};
use tokio::time::timeout;

use super::{sent, term, until_answered};

const LONG: Duration = Duration::from_secs(60);

/// What was acknowledged is there when the server is back, and what was remembered of it still leads to one write.
#[tokio::test]
async fn acknowledged_writes_survive_a_server_that_is_killed() {
    let mut server = Server::start().await;
    let provider = server.provider().await;
    let a = term("door");
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&a).await.unwrap() else {
        panic!("nobody else is here");
    };
    let token = tokens.last();
    for n in 1..=5 {
        let renew = Renew::new(a.name.clone(), a.new, n);
        let renewed = provider.renew(&renew).await.unwrap();
        assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
        server.restart().await;
        let other = server.provider().await;
        let record = other.read(&a.name).await.unwrap().unwrap();
        assert_eq!(
            (record.uuid, record.renewals, record.token),
            (a.new, n, token)
        );
        let refused = other.acquire(&term("door")).await.unwrap();
        assert!(matches!(refused, AcquireOutcome::Held(_)), "{refused:?}");
        until_answered(&provider).await;
    }
    let release = Release::new(a.name.clone(), a.new, Some(token));
    let released = provider.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released);
}

/// A holder does not notice, and neither does the one that waits for it.
#[tokio::test]
async fn guard_survives_a_server_that_is_killed() {
    let mut server = Server::start().await;
    let lock = |provider| {
        let lock = DLock::builder().name("door").duration(LONG);
        let lock = lock.renew_every(Duration::from_secs(3));
        lock.provider(provider).build().unwrap()
    };
    let guard = lock(server.provider().await).hold().await.unwrap();
    let waiting = lock(server.provider().await);
    let waiter = tokio::spawn(async move { waiting.acquire().await });
    let door = term("door").name;
    for _ in 0..3 {
        server.restart().await;
        let direct = server.provider().await;
        let renewals = async || direct.read(&door).await.unwrap().unwrap().renewals;
        let before = renewals().await;
        while renewals().await == before {
            assert!(guard.is_valid(), "{:?}", guard.state());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!waiter.is_finished());
    }
    let token = guard.token();
    guard.release().await.unwrap();
    let next = timeout(LONG, waiter).await.unwrap();
    let next = next.unwrap().unwrap();
    assert!(next.token() > token);
    next.release().await.unwrap();
}

#[tokio::test]
async fn server_that_is_not_there_is_said_so_at_once() {
    let gone = Server::start().await.address();
    // What waited for an answer would wait for an hour.
    let provider = provider(gone, 60 * LONG).await;
    let at_once = async {
        for _ in 0..3 {
            let error = provider.acquire(&term("door")).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
            let error = provider.read(&term("door").name).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
        }
    };
    timeout(LONG, at_once).await.unwrap();
}

/// It stands still, and goes on: the answer is not known, or nothing was asked, and the next one is right.
#[tokio::test]
async fn silent_server_leaves_it_unknown() {
    let mut server = Server::start().await;
    let patient = server.provider().await;
    let a = term("door");
    patient.read(&a.name).await.unwrap();
    let raw = client(server.address(), LONG).await;
    let hasty = dlock_nats::provider(raw.clone(), BUCKET, "dlock").unwrap();
    hasty.read(&a.name).await.unwrap();
    server.freeze().await;
    let unanswered = timeout(Duration::from_millis(500), hasty.acquire(&a)).await;
    assert!(unanswered.is_err(), "{unanswered:?}");
    server.signal("CONT");
    let granted = patient.acquire(&a).await.unwrap();
    assert!(
        matches!(granted, AcquireOutcome::Acquired(_)),
        "{granted:?}"
    );
    // The request of the acquire that was given up arrives as well, and changes nothing.
    let record = hasty.read(&a.name).await.unwrap().unwrap();
    assert_eq!((record.uuid, record.renewals), (a.new, 0));
}

/// A connection that breaks while a request waits for its answer: that is known long before its time limit.
#[tokio::test]
async fn broken_connection_ends_the_requests_that_wait() {
    let mut server = Server::start().await;
    // The time limit is an hour.
    let raw = client(server.address(), 60 * LONG).await;
    let provider = dlock_nats::provider(raw.clone(), BUCKET, "dlock").unwrap();
    let a = term("door");
    provider.read(&a.name).await.unwrap();
    server.freeze().await;
    let before = sent(&raw);
    let request = tokio::spawn({
        let (provider, a) = (provider.clone(), a.clone());
        async move { provider.acquire(&a).await }
    });
    while sent(&raw) == before {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.restart().await;
    let error = timeout(LONG, request).await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    until_answered(&provider).await;
    let granted = provider.acquire(&a).await.unwrap();
    assert!(
        matches!(granted, AcquireOutcome::Acquired(_)),
        "{granted:?}"
    );
}

/// What was pushed while there was no connection is lost, so the listener has to listen anew, and to ask.
#[tokio::test]
async fn channel_of_wakeups_ends_with_its_connection() {
    let mut server = Server::start().await;
    let (provider, other) = (server.provider().await, server.provider().await);
    let released = async |name: &str| {
        let a = term(name);
        other.acquire(&a).await.unwrap();
        let release = Release::new(a.name, a.new, None);
        other.release(&release).await.unwrap();
    };
    let mut wakeups = provider.watch().await.unwrap().unwrap();
    released("before").await;
    let woken = timeout(LONG, wakeups.next()).await.unwrap();
    assert!(woken.is_some());
    server.restart().await;
    let ended = async { while wakeups.next().await.is_some() {} };
    timeout(LONG, ended).await.unwrap();
    until_answered(&provider).await;
    until_answered(&other).await;
    let mut wakeups = provider.watch().await.unwrap().unwrap();
    released("after").await;
    let woken = timeout(LONG, wakeups.next()).await.unwrap();
    assert!(woken.is_some());
}
