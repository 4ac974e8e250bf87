//! Grants and renewals that wait for replicas.

use std::{error::Error as _, time::Duration};

use dlock_core::{
    DLock, ErrorKind, Provider, ProviderError,
    provider::{Acquire, AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_redis::{BuildError, RedisProvider, Unacknowledged};

use crate::support::{
    LONG, SOON, Server, built, eventually, fresh_name, record::mark, replicated, soon, try_for,
};

const WITHIN: Duration = Duration::from_millis(150);

fn by(server: &Server, replicas: usize) -> RedisProvider {
    let provider = RedisProvider::builder()
        .client(server.client())
        .acknowledged_by(replicas)
        .acknowledged_within(WITHIN)
        .call_timeout(SOON);
    built(provider.build())
}

/// A grant whose replica may be slow on a busy machine.
async fn acknowledged(provider: &RedisProvider, term: &Acquire) {
    eventually("the replica acknowledges", || async move {
        match provider.acquire(term).await {
            Ok(AcquireOutcome::Acquired(_)) => true,
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                reached(&error);
                false
            }
        }
    })
    .await;
}

fn reached(error: &ProviderError) -> (usize, usize) {
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    let source = error.source().and_then(|source| source.downcast_ref());
    let Some(Unacknowledged {
        reached, wanted, ..
    }) = source
    else {
        panic!("does not say what was reached: {error:?}")
    };
    (*reached, *wanted)
}

#[tokio::test]
async fn too_few_replicas_make_a_grant_unknown_and_say_how_many_there_were() {
    let (primary, _replica) = replicated().await;
    let provider = by(&primary, 2);
    let term = try_for(&fresh_name("two"), LONG);
    let (p, t) = (&provider, &term);
    eventually("one replica acknowledges", || async move {
        match reached(&p.acquire(t).await.unwrap_err()) {
            (0, 2) => false, // A busy machine.
            reached => reached == (1, 2),
        }
    })
    .await;
    // The outcome is unknown: it was applied, and excludes others until it is released.
    let rival = try_for(&term.name, LONG);
    let held = provider.acquire(&rival).await.unwrap();
    assert!(matches!(held, AcquireOutcome::Held(_)), "{held:?}");
    let release = Release::new(term.name.clone(), term.new, None);
    assert_eq!(
        provider.release(&release).await.unwrap(),
        ReleaseOutcome::Released { wanted: false }
    );
    // One replica is enough for a client that requires only one.
    acknowledged(&by(&primary, 1), &rival).await;
}

#[tokio::test]
async fn a_replica_that_hangs_acknowledges_nothing_until_it_goes_on() {
    let (primary, mut replica) = replicated().await;
    let provider = by(&primary, 1);
    let term = try_for(&fresh_name("hung"), LONG);
    let other = try_for(&fresh_name("other"), LONG);
    acknowledged(&provider, &term).await;

    replica.freeze().await;
    let renew = |n| Renew::new(term.name.clone(), term.new, n);
    assert_eq!(
        reached(&provider.renew(&renew(1)).await.unwrap_err()),
        (0, 1)
    );
    assert_eq!(
        reached(&provider.acquire(&other).await.unwrap_err()),
        (0, 1)
    );
    // The repeats write nothing new (A2, R2), over whatever connection: they are no more acknowledged than before.
    let mut crowd = Vec::new();
    for _ in 0..20 {
        let (provider, other, renew) = (provider.clone(), other.clone(), renew(1));
        crowd.push(tokio::spawn(async move {
            assert_eq!(
                reached(&provider.acquire(&other).await.unwrap_err()),
                (0, 1)
            );
            assert_eq!(reached(&provider.renew(&renew).await.unwrap_err()), (0, 1));
        }));
    }
    for task in crowd {
        task.await.unwrap();
    }
    let fresh = by(&primary, 1);
    assert_eq!(reached(&fresh.acquire(&other).await.unwrap_err()), (0, 1));
    for answer in fresh.renew_many(&[renew(1), renew(2)]).await {
        assert_eq!(reached(&answer.unwrap_err()), (0, 1));
    }
    // Losses and refusals are reported without waiting for replicas.
    let rival = try_for(&term.name, LONG);
    assert_eq!(mark(&provider, &term.name).await, 7);
    let lost = Renew::new(term.name.clone(), rival.new, 1);
    assert!(matches!(
        provider.renew(&lost).await.unwrap(),
        RenewOutcome::Lost(Some(_))
    ));

    replica.thaw();
    let renewed = loop {
        match provider.renew(&renew(2)).await {
            Ok(renewed) => break renewed,
            Err(error) => assert_eq!(reached(&error), (0, 1)),
        }
    };
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
    acknowledged(&provider, &other).await;
}

/// Without acknowledgements there is no grant, and nothing stays behind.
#[tokio::test]
async fn a_lock_is_not_handed_out_while_its_replica_hangs() {
    let (primary, mut replica) = replicated().await;
    let name = fresh_name("handed");
    let lock = DLock::builder()
        .name(name.as_str())
        // Within the first attempt, which lasts a third of the lease: the next one might find this one's record and be
        // refused by it.
        .duration(LONG)
        .give_up_after(LONG / 20)
        .provider(by(&primary, 1))
        .build()
        .unwrap();
    replica.freeze().await;
    let error = soon("giving up", lock.acquire()).await.unwrap_err();
    let mut causes = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        causes.push(cause.to_string());
        source = cause.source();
    }
    assert!(
        causes
            .iter()
            .any(|cause| cause.contains("0 of the 1 required replicas")),
        "{causes:?}"
    );
    replica.thaw();
    let lease = soon("the lock", lock.acquire()).await.unwrap();
    assert!(lease.is_valid());
}

/// A lease whose renewals are not acknowledged ends at its deadline, not later.
#[tokio::test]
async fn a_guard_is_lost_when_its_renewals_are_not_acknowledged() {
    let (primary, mut replica) = replicated().await;
    let lock = DLock::builder()
        .name(fresh_name("guarded").as_str())
        .duration(Duration::from_secs(2))
        .provider(by(&primary, 1))
        .build()
        .unwrap();
    let guard = soon("the lock", lock.hold()).await.unwrap();
    replica.freeze().await;
    let loss = soon("the loss", guard.ended()).await;
    assert!(!guard.is_valid());
    assert!(loss.to_string().contains("ran out"), "{loss}");
    replica.thaw();
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused() {
    let server = Server::start(&[]).await;
    let connection = crate::support::connect(&server.client()).await;
    let alone = RedisProvider::builder()
        .connection(connection)
        .acknowledged_by(1)
        .build();
    assert_eq!(alone.unwrap_err(), BuildError::NoClient);
    for within in [
        Duration::ZERO,
        Duration::from_micros(1500),
        Duration::from_secs(2),
        Duration::MAX,
    ] {
        let provider = RedisProvider::builder()
            .client(server.client())
            .acknowledged_by(1)
            .acknowledged_within(within)
            .build();
        assert_eq!(
            provider.unwrap_err(),
            BuildError::AcknowledgedWithin { within }
        );
    }
}
