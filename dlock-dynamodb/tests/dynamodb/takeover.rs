//! When a waiter gets the lock of a holder that died, and what waiting costs until then (W2).

#![expect(clippy::unwrap_used, reason = "test code")]

use std::time::Duration;

use dlock_core::{
    Client, DLock, Lease, Name, Provider,
    provider::{Acquire, AcquireOutcome, Renew},
};
use dlock_dynamodb::DynamodbProvider;
use dlock_testkit::faults::{Faulty, Op};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep, sleep_until},
};
use uuid::Uuid;

use crate::common::provider;

const D: Duration = Duration::from_secs(3);
/// The default for that lease.
const P: Duration = Duration::from_millis(300);
/// Most by which jitter delays: a fifth of an interval at a poll, 50 ms at the end of an observation.
const JITTER: Duration = Duration::from_millis(60 + 50);

fn waiting(
    provider: &DynamodbProvider,
    name: &Name,
) -> (Faulty<DynamodbProvider>, JoinHandle<Lease>) {
    let counted = Faulty::new(provider.clone());
    let lock = DLock::builder()
        .name(name.as_str())
        .duration(D)
        .provider(Client::new(counted.clone()))
        .build()
        .unwrap();
    let waiter = tokio::spawn(async move { lock.acquire().await.unwrap() });
    (counted, waiter)
}

/// Takes a lock, lets others queue, renews once at `moment`, and dies. Returns how long after that
/// renewal a waiter had the lock, and what it sent until then.
async fn death(
    provider: DynamodbProvider,
    name: Name,
    moment: Duration,
) -> (Duration, usize, usize) {
    let holder = Acquire::new(name.clone(), Uuid::new_v4(), D);
    let outcome = provider.acquire(&holder).await.unwrap();
    assert!(matches!(outcome, AcquireOutcome::Acquired(_)));
    let (counted, waiter) = waiting(&provider, &name);
    sleep(moment).await;
    provider
        .renew(&Renew::new(name, holder.new, 1))
        .await
        .unwrap();
    let renewed = Instant::now();
    drop(waiter.await.unwrap());
    let taken = renewed.elapsed();
    (taken, counted.count(Op::Acquire), counted.count(Op::Read))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_holder_is_replaced_at_the_end_of_the_observation_and_its_waiter_is_quiet() {
    const DEATHS: u32 = 24;
    let provider = provider().await;
    let began = Instant::now();
    let mut deaths = JoinSet::new();
    for number in 0..DEATHS {
        // At every phase of the waiters' intervals.
        let moment = P + P * number / DEATHS;
        let name = Name::new(format!("lock {number}")).unwrap();
        let start = began + P * number / DEATHS / 7;
        let provider = provider.clone();
        deaths.spawn(async move {
            sleep_until(start).await;
            (moment, death(provider, name, moment).await)
        });
    }
    let (mut times, mut repeated) = (Vec::new(), 0);
    for (moment, (taken, tries, looks)) in deaths.join_all().await {
        assert!(
            taken >= D,
            "taken {taken:?} after a renewal: {D:?} is its lease"
        );
        // The first question and the one with the claim; one more where the store took too long to answer.
        assert!((2..=3).contains(&tries), "{tries} tries, {looks} looks");
        repeated += tries - 2;
        let waited = moment + taken;
        let most = waited.as_millis() / P.as_millis();
        assert!(looks as u128 <= most, "{looks} looks within {waited:?}");
        times.push(taken - D);
    }
    assert!(
        repeated <= DEATHS as usize / 4,
        "{repeated} tries more than two each"
    );
    times.sort_unstable();
    let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
    println!("after the lease: median {median:?}, worst {worst:?}");
    // One interval to see the last renewal, jitter, and what a busy machine takes; of a single one it
    // may take much, but who began to count anew would need another lease.
    let busy = Duration::from_millis(300);
    assert!(median <= P + JITTER + busy, "{times:?}");
    assert!(worst < D, "{times:?}");
}
