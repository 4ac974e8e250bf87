//! The means of a frontend case: clients over the fault wrapper, on the fixture's clock or on one that moves by hand,
//! and ways to wait.

use std::{
    fmt::Debug,
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use dlock_core::{
    Client, Clock, DLock, Error, Holder, Lease, Name, TryAcquire,
    provider::{Acquire, Release, Renew},
    testing::ManualClock,
};
use dlock_testkit::{
    Bench, Subject,
    faults::{Fault, Faulty, Op},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::interceptor::Interceptor;

/// The lease on a clock that moves by hand: the store's own clock must not come near its end.
pub(super) const BY_HAND: Duration = Duration::from_secs(60);

/// How long a condition may take to become true before the case fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Builds a lock of a harness: `lock!(harness, "label", margin = 0.5)`.
macro_rules! lock {
    ($harness:expr, $label:expr $(, $setting:ident = $value:expr)* $(,)?) => {
        crate::harness::ok(
            dlock_core::DLock::builder()
                .name($harness.name($label).as_str())
                .provider(&$harness.client)
                .duration($harness.lease)
                $(.$setting($value))*
                .build(),
        )
    };
}
pub(super) use lock;

/// A case in progress, and the means to make its clients.
pub(super) struct Round {
    bench: Bench,
    /// The lease, on the fixture's clock.
    pub(super) lease: Duration,
}

/// One process's side of the store.
pub(super) struct Harness {
    bench: Bench,
    /// Between the faults and the provider.
    pub(super) interceptor: Interceptor,
    /// The provider, with faults and a record of calls.
    pub(super) store: Faulty<Interceptor>,
    pub(super) client: Client,
    /// The lease of the locks that `lock!` builds.
    pub(super) lease: Duration,
}

/// Moves a harness's clock.
#[derive(Clone)]
pub(super) struct Hand(ManualClock);

/// Plays a case in the single round of paused time: nothing is late there.
pub(super) async fn rounds<Fut>(bench: Bench, case: impl FnOnce(Round) -> Fut + Send)
where
    Fut: Future<Output = ()> + Send,
{
    let lease = bench.lease();
    case(Round { bench, lease }).await;
}

impl Round {
    pub(super) fn bench(&self) -> &Bench {
        &self.bench
    }

    /// A client on the fixture's clock.
    pub(super) async fn harness(&self) -> Harness {
        self.make(self.bench.clock(), self.lease).await
    }

    /// A client on this clock, which moves by hand.
    pub(super) async fn on(&self, clock: Clock) -> Harness {
        self.make(clock, BY_HAND).await
    }

    /// A client whose clock moves by hand.
    pub(super) async fn by_hand(&self) -> (Harness, Hand) {
        let (clock, hand) = Clock::manual();
        (self.make(clock, BY_HAND).await, Hand(hand))
    }

    async fn make(&self, clock: Clock, lease: Duration) -> Harness {
        let interceptor = Interceptor::new(self.bench.provider().await);
        let store = Faulty::new(interceptor.clone());
        Harness {
            bench: self.bench.clone(),
            client: Client::with_clock(store.clone(), clock),
            interceptor,
            store,
            lease,
        }
    }
}

impl Harness {
    /// Another process on the same store, on the fixture's clock.
    pub(super) async fn rival(&self) -> Self {
        let round = Round {
            bench: self.bench.clone(),
            lease: self.lease,
        };
        round.harness().await
    }

    /// Another client over the same provider, as for a process that starts again.
    pub(super) fn another_client(&mut self, clock: Clock) {
        self.client = Client::with_clock(self.store.clone(), clock);
    }

    pub(super) fn bench(&self) -> &Bench {
        &self.bench
    }

    pub(super) fn name(&self, label: impl AsRef<str>) -> Name {
        self.bench.name(label.as_ref())
    }

    /// The store itself, past all faults and clients.
    pub(super) async fn subject(&self) -> Subject {
        self.bench.subject().await
    }

    /// Another process takes the lock, for longer than any case lasts.
    pub(super) async fn taken_by_another(&self, label: &str) -> (Subject, Acquire) {
        let subject = self.subject().await;
        let term = self.bench.term(&self.name(label));
        subject.grants(&term).await;
        (subject, term)
    }

    /// From now on this client hears no hints: it cannot open its channel.
    pub(super) fn deafen(&self) {
        self.store.always(Op::Watch, Fault::UNKNOWN_BEFORE);
    }

    /// The acquires sent so far.
    pub(super) fn acquires(&self) -> Vec<Acquire> {
        let calls = self.store.calls();
        calls
            .iter()
            .filter_map(|call| call.acquire().cloned())
            .collect()
    }

    /// How often the lock was requested or read so far.
    pub(super) fn questions(&self) -> usize {
        self.store.count(Op::Acquire) + self.store.count(Op::Read)
    }

    /// Waits until the lock has been requested or read this often.
    pub(super) async fn asked(&self, count: usize) {
        eventually(&format!("question {count}"), || self.questions() >= count).await;
    }

    /// The renewals sent so far.
    pub(super) fn renewals(&self) -> Vec<Renew> {
        let calls = self.store.calls();
        calls
            .iter()
            .filter_map(|call| call.renew().cloned())
            .collect()
    }

    /// The releases sent so far.
    pub(super) fn releases(&self) -> Vec<Release> {
        let calls = self.store.calls();
        calls
            .iter()
            .filter_map(|call| call.release().cloned())
            .collect()
    }

    /// Waits until this many calls of this operation have been sent.
    pub(super) async fn sent(&self, op: Op, count: usize) {
        eventually(&format!("call {count} of {op:?}"), || {
            self.store.count(op) >= count
        })
        .await;
    }
}

impl Hand {
    /// Moves the clock once every task sleeps, and lets every task that wakes up act.
    pub(super) async fn advance(&self, by: Duration) {
        settle().await;
        self.0.advance(by);
        settle().await;
    }

    /// Moves the clock in small steps until the task ends, and returns its result.
    pub(super) async fn passes_until<T>(&self, task: JoinHandle<T>) -> T {
        let began = Instant::now();
        while !task.is_finished() && began.elapsed() < PATIENCE {
            self.advance(Duration::from_millis(10)).await;
        }
        joined(task).await
    }

    /// The same, in steps for a task that needs about this span.
    pub(super) async fn passes_until_within<T>(&self, task: JoinHandle<T>, span: Duration) -> T {
        let began = Instant::now();
        while !task.is_finished() && began.elapsed() < PATIENCE {
            self.advance(span / 40).await;
        }
        joined(task).await
    }

    /// Moves the clock and lets no task act.
    pub(super) fn jump(&self, by: Duration) {
        self.0.advance(by);
    }

    /// For [`Interceptor::after`]: moves the clock at that instant.
    pub(super) fn jumping(&self, by: Duration) -> impl FnOnce() + Send + 'static {
        let hand = self.clone();
        move || hand.jump(by)
    }
}

/// Waits until the condition holds.
pub(super) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(
            began.elapsed() < PATIENCE,
            "{what}: not within {PATIENCE:?}"
        );
        sleep(Duration::from_millis(2)).await;
    }
}

/// The result of a future that must be ready soon, on the fixture's clock.
pub(super) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_elapsed) => panic!("{what}: not within {PATIENCE:?}"),
    }
}

/// Lets everything that can happen without time passing happen.
pub(super) async fn settle() {
    sleep(Duration::from_millis(15)).await;
}

/// Polls a future once.
pub(super) fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[track_caller]
pub(super) fn ok<T, E: Debug>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("this should have succeeded: {error:?}"),
    }
}

#[track_caller]
pub(super) fn acquired(answer: Result<TryAcquire, Error>) -> Lease {
    match ok(answer) {
        TryAcquire::Acquired(lease) => lease,
        TryAcquire::Held(holder) => panic!("this should have been granted: {holder:?}"),
    }
}

#[track_caller]
pub(super) fn held(answer: Result<TryAcquire, Error>) -> Holder {
    match ok(answer) {
        TryAcquire::Held(holder) => holder,
        TryAcquire::Acquired(lease) => panic!("this should have been refused: {lease:?}"),
    }
}

/// A `try_acquire` in a separate task.
pub(super) fn trying(lock: &DLock) -> JoinHandle<Result<TryAcquire, Error>> {
    let lock = lock.clone();
    crate::spawn(async move { lock.try_acquire().await })
}

/// An `acquire` in a separate task.
pub(super) fn waiting(lock: &DLock) -> JoinHandle<Result<Lease, Error>> {
    let lock = lock.clone();
    crate::spawn(async move { lock.acquire().await })
}

/// The result of a task, which must end soon.
pub(super) async fn joined<T>(task: JoinHandle<T>) -> T {
    ok(soon("a task of the case", task).await)
}
