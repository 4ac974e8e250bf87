//! A missed bound of time repeats a case; no other failure does.

#![expect(
    clippy::expect_used,
    reason = "what is unwrapped here is a failed test"
)]

use std::{
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Durability, Release, ReleaseOutcome,
        Renew, RenewOutcome,
    },
};
use dlock_testkit::{
    CASES, Fixture,
    memory::{MemoryProvider, MemoryStore},
    runner::{self, Shared, paused_runtime},
    slow,
};
use tokio::time::sleep;

use crate::suite::complains;

const LEASE: Duration = Duration::from_secs(1);

/// How often a case runs that always fails with these words.
fn played<Fut: Future<Output = ()> + Send>(words: &str, case: impl Fn() -> Fut + Sync) -> usize {
    let rounds = AtomicUsize::new(0);
    complains(words, || {
        let leases = slow::leases(LEASE, 3);
        paused_runtime().block_on(slow::rounds(leases, |_| {
            rounds.fetch_add(1, Ordering::Relaxed);
            case()
        }));
    });
    rounds.into_inner()
}

#[test]
fn missed_bound_of_time_is_repeated_with_longer_leases_and_fails_in_the_end() {
    let late = || async { slow::in_time(false, "the takeover") };
    assert_eq!(played("the takeover (with a lease of 9s)", late), 3);
    let silent = || async {
        slow::within(LEASE, "the answer", sleep(2 * LEASE)).await;
    };
    assert_eq!(played("the answer: not within 1s", silent), 3);
}

#[test]
fn missed_bound_of_a_task_is_one_of_the_case() {
    let late = || async {
        let task = tokio::spawn(async { slow::in_time(false, "the takeover") });
        slow::joined(task.await);
    };
    assert_eq!(played("the takeover", late), 3);
}

#[test]
fn any_other_failure_ends_the_test_however_slow_the_machine_is() {
    let wrong = || async {
        sleep(100 * LEASE).await;
        panic!("it took too long, or whatever");
    };
    assert_eq!(played("it took too long", wrong), 1);
    let of_a_task = || async {
        let task = tokio::spawn(async { panic!("two are inside") });
        slow::joined(task.await);
    };
    assert_eq!(played("two are inside", of_a_task), 1);
}

/// Grants every fortieth try that it should refuse, but only on the first name on which it refuses any: so only in the
/// first round of a case.
#[derive(Clone)]
struct NowAndThen {
    inner: MemoryProvider,
    refused: Arc<Mutex<(Option<Name>, usize)>>,
}

struct Fickle(NowAndThen);

impl Fixture for Fickle {
    type Provider = NowAndThen;

    const CAPABILITIES: Capabilities = Capabilities::new("fickle", Discipline::StoreClock)
        .closing(true)
        .durability(Durability::Volatile);

    async fn start() -> Self {
        let store = MemoryStore::store_clock();
        Self(NowAndThen {
            inner: MemoryProvider::new(&store).wakeups(false),
            refused: Arc::default(),
        })
    }

    async fn provider(&self) -> NowAndThen {
        self.0.clone()
    }
}

impl NowAndThen {
    fn is_fooled(&self, name: &Name) -> bool {
        let mut refused = self.refused.lock().expect("no case holds it");
        let (first, times) = &mut *refused;
        if first.get_or_insert_with(|| name.clone()) != name {
            return false;
        }
        *times += 1;
        times.is_multiple_of(40)
    }
}

#[test]
fn two_holders_in_the_first_round_fail_a_case_however_slow_the_machine_is() {
    for case in [
        "contenders_without_hints_take_turns",
        "holders_exclude_each_other_and_tokens_follow_their_order",
    ] {
        let shared: &'static Shared = Box::leak(Box::new(Shared::new()));
        complains("two", || runner::run::<Fickle>(shared, CASES, case));
    }
}

#[async_trait]
impl Provider for NowAndThen {
    fn capabilities(&self) -> Capabilities {
        Fickle::CAPABILITIES
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let answer = self.inner.acquire(request).await?;
        match answer {
            AcquireOutcome::Held(record) if self.is_fooled(&request.name) => {
                let claim = request.clone().prev(Some(record.version()));
                self.inner.acquire(&claim).await
            }
            answer => Ok(answer),
        }
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.inner.renew(request).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.inner.release(request).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.inner.read(name).await
    }
}
