//! O4: a process's observations, kept for the processes that come after it.
//!
//! Each process tries once and ends: each has its own client, on one clock that moves by hand, as the processes of a
//! host share one clock. Where the store's own clock ends leases nothing is kept, and each of these processes knows
//! only what it has seen itself.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use dlock_core::{
    Client, Clock, Holder, Lease, Name, Observations, TryAcquire, provider::Version,
    testing::ManualClock,
};
use dlock_testkit::{Bench, faults::Op};

use super::harness::{BY_HAND, Harness, Round, lock, ok, rounds, soon};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

pub(crate) async fn observation_outlives_its_process(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut harness, host) = Host::start(&round).await;
        let dead = host.taken_by_the_dead(&harness).await;
        // The observation begins after the reply that first showed it.
        let hand = host.hand.clone();
        harness
            .interceptor
            .after(Op::Acquire, move || hand.advance(5 * SECOND));
        host.is_refused(&mut harness, Duration::ZERO).await;
        host.hand.advance(BY_HAND / 2);
        host.is_refused(&mut harness, BY_HAND / 2).await;
        host.hand.advance(BY_HAND / 2 - MILLISECOND);
        host.is_refused(&mut harness, BY_HAND - MILLISECOND).await;
        host.hand.advance(MILLISECOND);
        let stranger = Client::with_clock(harness.store.clone(), host.clock.clone());
        let holder = refused(try_once(&mut harness, stranger).await);
        assert_eq!((holder.observed, holder.kept), (Duration::ZERO, false));
        host.takes_over(&mut harness, dead).await;
    })
    .await;
}

pub(crate) async fn observation_of_another_boot_counts_for_nothing(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut harness, mut host) = Host::start(&round).await;
        let dead = host.taken_by_the_dead(&harness).await;
        host.is_refused(&mut harness, Duration::ZERO).await;
        // A clock that seems to have run for a long time.
        let (clock, hand) = Clock::manual();
        hand.advance(100 * BY_HAND);
        (host.clock, host.hand) = (clock, hand);
        host.is_refused(&mut harness, Duration::ZERO).await;
        host.hand.advance(BY_HAND);
        host.takes_over(&mut harness, dead).await;
    })
    .await;
}

pub(crate) async fn kept_observation_is_of_one_version(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut harness, host) = Host::start(&round).await;
        let subject = harness.subject().await;
        let alive = harness.bench().term_of(&harness.name(""), BY_HAND);
        subject.grants(&alive).await;
        host.is_refused(&mut harness, Duration::ZERO).await;
        for n in 1..=2 {
            host.hand.advance(BY_HAND);
            subject.renews(&alive, n).await;
            host.is_refused(&mut harness, Duration::ZERO).await;
        }
        host.hand.advance(BY_HAND - MILLISECOND);
        host.is_refused(&mut harness, BY_HAND - MILLISECOND).await;
        host.hand.advance(MILLISECOND);
        let version = Version {
            uuid: alive.new,
            renewals: 2,
        };
        host.takes_over(&mut harness, version).await;
    })
    .await;
}

pub(crate) async fn observation_is_kept_only_where_it_decides(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut harness, host) = Host::start(&round).await;
        let client = host.client(&harness);
        let lease = acquired(try_once(&mut harness, client).await);
        ok(soon("the release", lease.release()).await);
        assert!(host.place.is_empty(), "a grant keeps nothing");
        let dead = host.taken_by_the_dead(&harness).await;
        harness.client = host.client(&harness);
        let record = ok(soon("the record", lock!(harness, "").read()).await);
        assert_eq!(record.map(|record| record.version()), Some(dead));
        assert_eq!(host.place.is_empty(), !host.keeps);
        host.hand.advance(BY_HAND);
        host.takes_over(&mut harness, dead).await;
    })
    .await;
}

/// A machine on which processes start and end.
struct Host {
    clock: Clock,
    hand: ManualClock,
    place: Place,
    /// The store has no clock, so observations are kept.
    keeps: bool,
}

/// The storage that outlives the processes.
#[derive(Clone, Debug, Default)]
struct Place(Arc<Mutex<BTreeMap<Name, String>>>);

impl Place {
    fn is_empty(&self) -> bool {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.is_empty()
    }
}

impl Observations for Place {
    fn load(&self, lock: &Name) -> io::Result<Option<String>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(kept.get(lock).cloned())
    }

    fn store(&self, lock: &Name, text: &str) -> io::Result<()> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(lock.clone(), text.to_owned());
        Ok(())
    }
}

impl Host {
    async fn start(round: &Round) -> (Harness, Self) {
        let (clock, hand) = Clock::manual();
        let harness = round.on(clock.clone()).await;
        let host = Self {
            clock,
            hand,
            place: Place::default(),
            keeps: !round.bench().store_clock(),
        };
        (harness, host)
    }

    /// The client of a process that starts now.
    fn client(&self, harness: &Harness) -> Client {
        let client = Client::with_clock(harness.store.clone(), self.clock.clone());
        client.observations(self.place.clone())
    }

    async fn taken_by_the_dead(&self, harness: &Harness) -> Version {
        let dead = harness.bench().term_of(&harness.name(""), BY_HAND);
        harness.subject().await.grants(&dead).await;
        Version {
            uuid: dead.new,
            renewals: 0,
        }
    }

    /// A process tries once, is refused, and knows the observation of its predecessors.
    async fn is_refused(&self, harness: &mut Harness, observed: Duration) {
        let client = self.client(harness);
        let holder = refused(try_once(harness, client).await);
        let known = if self.keeps { observed } else { Duration::ZERO };
        assert_eq!((holder.observed, holder.kept), (known, self.keeps));
        let claims = harness.acquires();
        assert_eq!(claims.last().and_then(|sent| sent.prev), None);
    }

    /// A process tries once and gets the lock, by claiming this version.
    async fn takes_over(&self, harness: &mut Harness, version: Version) {
        if !self.keeps {
            return self.is_refused(harness, Duration::ZERO).await;
        }
        let before = harness.acquires().len();
        let client = self.client(harness);
        drop(acquired(try_once(harness, client).await));
        let sent = harness.acquires();
        let claims: Vec<_> = sent[before..].iter().map(|sent| sent.prev).collect();
        assert_eq!(claims, [None, Some(version)]);
    }
}

/// One try of a process that has this client.
async fn try_once(harness: &mut Harness, client: Client) -> TryAcquire {
    harness.client = client;
    ok(soon("the answer", lock!(harness, "").try_acquire()).await)
}

#[track_caller]
fn refused(answer: TryAcquire) -> Holder {
    super::harness::held(Ok(answer))
}

#[track_caller]
fn acquired(answer: TryAcquire) -> Lease {
    super::harness::acquired(Ok(answer))
}
