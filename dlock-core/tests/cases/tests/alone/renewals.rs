//! Properties of renewals that need their own runtimes, or a crowd. The memory provider stands for all providers.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::{thread, time::Duration};

use dlock_core::{Clock, DLock, Guard};
use dlock_testkit::{
    faults::{Fault, Op},
    memory::{MemoryProvider, MemoryStore},
};
use tokio::{
    runtime::Runtime,
    time::{Instant, sleep},
};

use super::{LEASE, driven, faulty, lock, paused, paused_lock};

async fn hold(lock: &DLock, count: usize) -> Vec<Guard> {
    let mut guards = Vec::new();
    for number in 0..count {
        let lock = lock.named(number.to_string()).unwrap();
        guards.push(lock.hold().await.unwrap());
    }
    guards
}

/// V6: a runtime takes only its own leases with it, and its number may be used again.
#[test]
fn renewals_end_with_their_runtime_and_no_other() {
    let lease = Duration::from_secs(3);
    let (one, other) = (driven(), driven());
    let provider = faulty();
    let renewed = |guard: &Guard| {
        let calls = provider.calls();
        let renewals = calls.iter().filter_map(|call| call.renew());
        renewals.filter(|sent| sent.uuid == guard.uuid()).count()
    };
    let lock = lock(provider.clone(), Clock::system(), lease);
    let hold = |runtime: &Runtime, name: &str| {
        let lock = lock.named(name).unwrap();
        runtime.block_on(async move { lock.hold().await.unwrap() })
    };
    let (left, kept) = (hold(&one, "left"), hold(&other, "kept"));
    drop(one);
    let third = driven();
    let late = hold(&third, "late");
    let (before, began) = (renewed(&left), Instant::now());
    while renewed(&kept).min(renewed(&late)) < 2 {
        assert!(began.elapsed() < 20 * lease, "not renewed");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(renewed(&left), before, "renewed without a runtime");
    drop((left, kept, late));
}

/// G1: a provider that panics in the middle of a batch costs one attempt, and no lease.
#[test]
fn panic_of_a_provider_in_a_batch_costs_one_attempt() {
    paused().block_on(async {
        let provider = faulty();
        let guards = hold(&paused_lock(provider.clone()), 5).await;
        provider.next(Op::RenewMany, Fault::Panic);
        sleep(LEASE * 3).await;
        assert!(guards.iter().all(|guard| guard.is_valid()));
        assert!(provider.count(Op::RenewMany) > 0, "nothing panicked");
    });
}

/// V6: the number of calls is that of the batches, whatever the number of leases.
#[test]
fn many_leases_are_renewed_in_few_calls() {
    paused().block_on(async {
        let provider = faulty();
        let guards = hold(&paused_lock(provider.clone()), 3000).await;
        sleep(LEASE * 3).await;
        assert!(guards.iter().all(|guard| guard.is_valid()));
        let rounds = provider.count(Op::Renew) / 3000;
        assert!((8..=9).contains(&rounds), "{rounds} rounds");
        let calls = provider.count(Op::RenewMany);
        assert!(calls <= 9 * 6, "{calls} calls for {rounds} rounds of 3000");
    });
}

/// I17, and no storm: a crowd survives every outage that a single lease survives, and calls a store that is down no
/// more often than a few leases would.
#[test]
fn crowd_outlasts_an_outage_without_a_storm() {
    for outage in [Fault::LoseRequest, Fault::UNKNOWN_BEFORE] {
        paused().block_on(async {
            let provider = faulty();
            let guards = hold(&paused_lock(provider.clone()), 3000).await;
            provider.everything(outage);
            // `valid_until` - D/6 - the longest pause - R and the time for which a crowd may be delayed.
            sleep(LEASE * 8 / 10 - LEASE / 6 - LEASE / 40 - LEASE / 15).await;
            let calls = provider.count(Op::Renew) - provider.count(Op::RenewMany);
            // Each was tried once in a batch; then there are 16 probes for each pause of D/60.
            let probes = calls.saturating_sub(3000);
            assert!(probes < 16 * 60 / 4, "{probes} retries while {outage:?}");
            provider.clear();
            sleep(LEASE * 3).await;
            let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
            assert_eq!(lost, 0, "lost after {outage:?}");
        });
    }
}

/// Lets every task act that can.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// I14: no task runs when there is nothing to renew.
#[test]
fn scheduler_ends_with_its_last_lease() {
    paused().block_on(async {
        let alive = || {
            tokio::runtime::Handle::current()
                .metrics()
                .num_alive_tasks()
        };
        let before = alive();
        let lock = paused_lock(MemoryProvider::new(&MemoryStore::store_clock()).wakeups(false));
        for _ in 0..3 {
            let guards = hold(&lock, 10).await;
            settle().await;
            assert_eq!(alive(), before + 1, "a task for each lease");
            for guard in guards {
                guard.release().await.unwrap();
            }
            settle().await;
            assert_eq!(alive(), before, "it continues without a lease");
        }
    });
}
