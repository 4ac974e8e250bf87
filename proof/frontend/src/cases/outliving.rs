//! Section 3: what a process has seen, kept for those that come after it.
//!
//! Each process asks once and ends: a client of its own each, on one clock that moves by hand, as the
//! processes of a host are on one clock. Where the store's own clock ends leases nothing is kept, and
//! each of these processes knows only what it has seen itself.

use std::{fs, path::PathBuf, time::Duration};

use dlock_core::{
    Client, Clock, Holder, Lease, TryAcquire, provider::Version, testing::ManualClock,
};
use dlock_testkit::{Bench, faults::Op};
use uuid::Uuid;

use super::bed::{BY_HAND, Bed, Round, lock, ok, rounds, soon};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

pub(in crate::cases) async fn observation_outlives_its_process(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut bed, host) = Host::start(&round).await;
        let dead = host.taken_by_the_dead(&bed).await;
        // The observation begins after the reply that first showed it.
        let hand = host.hand.clone();
        bed.meddler
            .after(Op::Acquire, move || hand.advance(5 * SECOND));
        host.is_refused(&mut bed, Duration::ZERO).await;
        host.hand.advance(BY_HAND / 2);
        host.is_refused(&mut bed, BY_HAND / 2).await;
        host.hand.advance(BY_HAND / 2 - MILLISECOND);
        host.is_refused(&mut bed, BY_HAND - MILLISECOND).await;
        host.hand.advance(MILLISECOND);
        let stranger = Client::with_clock(bed.store.clone(), host.clock.clone());
        let holder = refused(try_once(&mut bed, stranger).await);
        assert_eq!((holder.observed, holder.kept), (Duration::ZERO, false));
        host.takes_over(&mut bed, dead).await;
    })
    .await;
}

pub(in crate::cases) async fn observation_of_another_boot_counts_for_nothing(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut bed, mut host) = Host::start(&round).await;
        let dead = host.taken_by_the_dead(&bed).await;
        host.is_refused(&mut bed, Duration::ZERO).await;
        // A clock that has gone on for long, as it seems.
        let (clock, hand) = Clock::manual();
        hand.advance(100 * BY_HAND);
        (host.clock, host.hand) = (clock, hand);
        host.is_refused(&mut bed, Duration::ZERO).await;
        host.hand.advance(BY_HAND);
        host.takes_over(&mut bed, dead).await;
    })
    .await;
}

pub(in crate::cases) async fn kept_observation_is_of_one_version(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut bed, host) = Host::start(&round).await;
        let subject = bed.subject().await;
        let alive = bed.bench().term_of(&bed.name(""), BY_HAND);
        subject.grants(&alive).await;
        host.is_refused(&mut bed, Duration::ZERO).await;
        for n in 1..=2 {
            host.hand.advance(BY_HAND);
            subject.renews(&alive, n).await;
            host.is_refused(&mut bed, Duration::ZERO).await;
        }
        host.hand.advance(BY_HAND - MILLISECOND);
        host.is_refused(&mut bed, BY_HAND - MILLISECOND).await;
        host.hand.advance(MILLISECOND);
        let version = Version {
            uuid: alive.new,
            renewals: 2,
        };
        host.takes_over(&mut bed, version).await;
    })
    .await;
}

pub(in crate::cases) async fn observation_is_kept_only_where_it_decides(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut bed, host) = Host::start(&round).await;
        let client = host.client(&bed);
        let lease = acquired(try_once(&mut bed, client).await);
        ok(soon("the release", lease.release()).await);
        assert!(!host.folder.0.exists(), "a grant needs no folder");
        let dead = host.taken_by_the_dead(&bed).await;
        bed.client = host.client(&bed);
        let record = ok(soon("the record", lock!(bed, "").read()).await);
        assert_eq!(record.map(|record| record.version()), Some(dead));
        assert_eq!(host.folder.0.exists(), host.keeps);
        host.hand.advance(BY_HAND);
        host.takes_over(&mut bed, dead).await;
    })
    .await;
}

/// A machine on which processes start and end.
struct Host {
    clock: Clock,
    hand: ManualClock,
    folder: Folder,
    /// The store has no clock, so what is seen there is kept.
    keeps: bool,
}

/// A path of its own, removed at the end.
struct Folder(PathBuf);

impl Host {
    async fn start(round: &Round) -> (Bed, Self) {
        let (clock, hand) = Clock::manual();
        let bed = round.on(clock.clone()).await;
        let folder = format!("dlock-outliving-{}", Uuid::new_v4().simple());
        let host = Self {
            clock,
            hand,
            folder: Folder(std::env::temp_dir().join(folder)),
            keeps: !round.bench().store_clock(),
        };
        (bed, host)
    }

    /// That of a process which starts now.
    fn client(&self, bed: &Bed) -> Client {
        let client = Client::with_clock(bed.store.clone(), self.clock.clone());
        client.observations(&self.folder.0, "the store of this case")
    }

    async fn taken_by_the_dead(&self, bed: &Bed) -> Version {
        let dead = bed.bench().term_of(&bed.name(""), BY_HAND);
        bed.subject().await.grants(&dead).await;
        Version {
            uuid: dead.new,
            renewals: 0,
        }
    }

    /// A process asks once, is refused, and knows what was seen before it.
    async fn is_refused(&self, bed: &mut Bed, observed: Duration) {
        let client = self.client(bed);
        let holder = refused(try_once(bed, client).await);
        let known = if self.keeps { observed } else { Duration::ZERO };
        assert_eq!((holder.observed, holder.kept), (known, self.keeps));
        let claims = bed.acquires();
        assert_eq!(claims.last().and_then(|sent| sent.prev), None);
    }

    /// A process asks once and has the lock, by claiming this version.
    async fn takes_over(&self, bed: &mut Bed, version: Version) {
        if !self.keeps {
            return self.is_refused(bed, Duration::ZERO).await;
        }
        let before = bed.acquires().len();
        let client = self.client(bed);
        drop(acquired(try_once(bed, client).await));
        let sent = bed.acquires();
        let claims: Vec<_> = sent[before..].iter().map(|sent| sent.prev).collect();
        assert_eq!(claims, [None, Some(version)]);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It may never have been made.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// One try of a process that has this client.
async fn try_once(bed: &mut Bed, client: Client) -> TryAcquire {
    bed.client = client;
    ok(soon("the answer", lock!(bed, "").try_acquire()).await)
}

#[track_caller]
fn refused(answer: TryAcquire) -> Holder {
    super::bed::held(Ok(answer))
}

#[track_caller]
fn acquired(answer: TryAcquire) -> Lease {
    super::bed::acquired(Ok(answer))
}
