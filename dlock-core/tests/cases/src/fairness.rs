//! N6 and N7: processes take turns. A process is a client here, over its own provider.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use dlock_core::DLock;
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use super::harness::{
    Hand, Harness, PATIENCE, Round, acquired, held, joined, lock, ok, rounds, settle, soon, waiting,
};

pub(crate) const MILLISECOND: Duration = Duration::from_millis(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// The mark of an unknown waiter.
pub(crate) const MARK: u32 = 7;

/// How long each process holds the lock. Not four milliseconds: in paused time that is exactly as long as the releaser
/// stays away (N7), so that its next try would coincide with the next release, again and again.
const SECTION: Duration = Duration::from_millis(6);

/// From now on this client hears hints, if the store sends any: its channel opens when a caller waits for the first
/// time.
pub(crate) async fn hears(harness: &Harness, hand: Option<&Hand>) {
    if !harness.bench().capabilities().watch {
        return;
    }
    let (subject, other) = harness.taken_by_another("another door").await;
    let waiter = waiting(&lock!(harness, "another door", poll_every = HOUR));
    harness.sent(Op::Watch, 1).await;
    harness.sent(Op::Acquire, 1).await;
    settle().await;
    subject.releases(&other, None).await;
    let lease = match hand {
        Some(hand) => hand.passes_until(waiter).await,
        None => joined(waiter).await,
    };
    ok(ok(lease).release().await);
}

/// The processes of one case: a client each, and a label each.
async fn crowd(round: &Round, count: usize) -> Vec<(Harness, DLock)> {
    let mut crowd = Vec::new();
    for number in 0..count {
        let harness = round.harness().await;
        hears(&harness, None).await;
        let owner = format!("process {number}");
        let lock = lock!(harness, "", owner = owner, poll_every = HOUR);
        crowd.push((harness, lock));
    }
    crowd
}

/// The processes that got the lock, in order.
#[derive(Clone, Default)]
struct Order(Arc<Mutex<Vec<usize>>>);

impl Order {
    /// Adds a grant, and returns how many there were with it.
    fn push(&self, process: usize) -> usize {
        let mut order = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        order.push(process);
        order.len()
    }

    fn grants(&self) -> usize {
        let order = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        order.len()
    }

    fn take(&self) -> Vec<usize> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A process takes the lock for [`SECTION`], releases it and requests it again at once, until this many grants were
/// made in all.
fn takes_turns(lock: &DLock, process: usize, order: &Order, grants: usize) -> JoinHandle<()> {
    let (lock, order) = (lock.clone(), order.clone());
    crate::spawn(async move {
        loop {
            let lease = ok(lock.acquire().await);
            let enough = order.push(process) >= grants;
            sleep(SECTION).await;
            ok(lease.release().await);
            if enough {
                return;
            }
        }
    })
}

/// Waits for the end of a task that takes turns. Each grant must come soon; how long all of them take depends on the
/// machine and on the load of the store.
async fn ended(mut turns: JoinHandle<()>, order: &Order) {
    loop {
        let before = order.grants();
        match timeout(PATIENCE, &mut turns).await {
            Ok(ended) => return ok(ended),
            Err(_elapsed) => assert!(order.grants() > before, "no grant within {PATIENCE:?}"),
        }
    }
}

/// Runs all of them concurrently, and returns the order in which they were served.
async fn race(crowd: &[(Harness, DLock)], grants: usize) -> Vec<usize> {
    let order = Order::default();
    let tasks: Vec<_> = (0..)
        .zip(crowd)
        .map(|(process, (_, lock))| takes_turns(lock, process, &order, grants))
        .collect();
    for turns in tasks {
        ended(turns, &order).await;
    }
    let mut order = order.take();
    order.truncate(grants);
    order
}

pub(crate) async fn waiter_is_served_before_the_releaser(bench: Bench) {
    rounds(bench, |round| async move {
        let crowd = crowd(&round, 2).await;
        let [(_, releaser), (patient, waiter)] = &crowd[..] else {
            panic!("two processes")
        };
        const TIMES: usize = 10;
        let mut first = 0;
        for _ in 0..TIMES {
            // It knows that the other is there.
            let lease = ok(soon("the lock", waiter.acquire()).await);
            drop(held(releaser.try_acquire().await));
            ok(lease.release().await);
            sleep(2 * SECTION).await;

            let lease = ok(soon("the lock", releaser.acquire()).await);
            let asked = patient.store.count(Op::Acquire);
            let order = Order::default();
            let other = takes_turns(waiter, 1, &order, 1);
            patient.sent(Op::Acquire, asked + 1).await;
            settle().await;
            ok(lease.release().await);
            ended(takes_turns(releaser, 0, &order, 1), &order).await;
            ended(other, &order).await;
            first += usize::from(order.take().first() == Some(&1));
        }
        assert_eq!(first, TIMES, "times that the waiter was served first");
    })
    .await;
}

pub(crate) async fn equal_processes_get_equal_shares(bench: Bench) {
    rounds(bench, |round| async move {
        const PROCESSES: usize = 8;
        let crowd = crowd(&round, PROCESSES).await;
        // They have to see each other first.
        race(&crowd, 10 * PROCESSES).await;
        let order = race(&crowd, 25 * PROCESSES).await;
        let turns = |process: usize| (0..).zip(&order).filter(move |(_, by)| **by == process);
        let grants: Vec<usize> = (0..PROCESSES)
            .map(|process| turns(process).count())
            .collect();
        let least = grants.iter().min().copied().unwrap_or(0);
        let most = grants.iter().max().copied().unwrap_or(0);
        let longest = (0..PROCESSES)
            .flat_map(|process| {
                let at: Vec<usize> = turns(process).map(|(at, _)| at).collect();
                let from = [0].into_iter().chain(at.clone());
                from.zip(at.into_iter().chain([order.len()]))
                    .map(|(from, to)| to - from)
                    .collect::<Vec<_>>()
            })
            .max()
            .unwrap_or(order.len());
        assert!(least > 0, "grants: {grants:?}");
        assert!(10 * most <= 15 * least, "grants: {grants:?}");
        assert!(
            longest <= 4 * PROCESSES,
            "{longest} grants between two of one process; grants: {grants:?}"
        );
    })
    .await;
}

pub(crate) async fn waiters_ask_at_most_once_a_grant(bench: Bench) {
    rounds(bench, |round| async move {
        const PROCESSES: usize = 8;
        const GRANTS: usize = 10 * PROCESSES;
        let crowd = crowd(&round, PROCESSES).await;
        let asked = || -> usize {
            crowd
                .iter()
                .map(|(harness, _)| harness.acquires().len())
                .sum()
        };
        let before = asked();
        race(&crowd, GRANTS).await;
        let asked = asked() - before;
        // n + 2 store commands a grant, one of which is the release.
        let most = (PROCESSES + 1) * (GRANTS + PROCESSES);
        assert!(asked <= most, "{asked} tries for {GRANTS} grants");
    })
    .await;
}

pub(crate) async fn process_that_was_never_refused_lets_others_in(bench: Bench) {
    rounds(bench, |round| async move {
        let crowd = crowd(&round, 2).await;
        let [(_, busy), (patient, waiter)] = &crowd[..] else {
            panic!("two processes")
        };
        let order = Order::default();
        let lease = ok(soon("the lock", busy.acquire()).await);
        let asked = patient.store.count(Op::Acquire);
        let other = takes_turns(waiter, 1, &order, 1);
        patient.sent(Op::Acquire, asked + 1).await;
        settle().await;
        ok(lease.release().await);
        // Fifty milliseconds, plus the requests in flight.
        let most = 20;
        ended(takes_turns(busy, 0, &order, most), &order).await;
        assert!(
            order.take()[..most].contains(&1),
            "never let in within {most} grants"
        );
        ended(other, &order).await;
    })
    .await;
}

pub(crate) async fn lone_process_makes_two_calls_and_waits_for_nothing(bench: Bench) {
    rounds(bench, |round| async move {
        const PAIRS: usize = 200;
        let harness = round.harness().await;
        let lock = lock!(harness, "", poll_every = HOUR);
        let mut waited = Duration::ZERO;
        for _ in 0..PAIRS {
            let asked = Instant::now();
            let lease = ok(soon("the lock", lock.acquire()).await);
            waited += asked.elapsed();
            sleep(2 * MILLISECOND).await;
            ok(lease.release().await);
        }
        let calls = [Op::Acquire, Op::Release, Op::Read].map(|op| harness.store.count(op));
        assert_eq!(calls, [PAIRS, PAIRS, 0]);
        assert_eq!(waited, Duration::ZERO, "alone");
    })
    .await;
}

/// A client that has just released the lock, and has seen this many others hold it, on a clock that stands still.
async fn releaser(round: &Round, others: usize) -> (Harness, Hand, DLock) {
    let (harness, hand) = round.by_hand().await;
    hears(&harness, Some(&hand)).await;
    let lock = lock!(harness, "", poll_every = HOUR);
    let subject = harness.subject().await;
    for other in 0..others {
        let term = harness
            .bench()
            .term(&harness.name(""))
            .owner(format!("other {other}"));
        subject.grants(&term).await;
        drop(held(soon("the try", lock.try_acquire()).await));
        subject.releases(&term, None).await;
    }
    let lease = acquired(soon("the try", lock.try_acquire()).await);
    let waiter = harness.bench().term(&harness.name("")).marks(MARK);
    subject.refuses(&waiter).await;
    ok(soon("the release", lease.release()).await);
    settle().await;
    (harness, hand, lock)
}

/// A stranger takes the lock for an instant while another client wants it.
async fn passes_by(harness: &Harness) {
    let subject = harness.subject().await;
    let other = harness.bench().term(&harness.name(""));
    subject.grants(&other).await;
    let waiter = harness.bench().term(&harness.name("")).marks(MARK);
    subject.refuses(&waiter).await;
    subject.releases(&other, None).await;
    settle().await;
}

pub(crate) async fn releaser_leaves_a_wanted_lock_to_others_for_four_slots(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand, lock) = releaser(&round, 1).await;
        let asked = harness.acquires().len();
        let again = waiting(&lock);
        hand.advance(3 * MILLISECOND).await;
        assert_eq!(harness.acquires().len(), asked, "asks before any other can");
        hand.advance(MILLISECOND).await;
        assert!(ok(joined(again).await).is_valid());
    })
    .await;
}

pub(crate) async fn claim_overtakes_no_release_of_a_wanted_term(bench: Bench) {
    rounds(bench, |round| async move {
        let harness = round.harness().await;
        if !harness.bench().capabilities().marks {
            return;
        }
        let lock = lock!(harness, "", poll_every = HOUR);
        let lease = ok(soon("the lock", lock.acquire()).await);
        let waiter = harness.bench().term(&harness.name("")).marks(MARK);
        harness.subject().await.refuses(&waiter).await;
        harness.store.next(Op::Release, Fault::HoldRequest);
        let release = crate::spawn(lease.release());
        harness.sent(Op::Release, 1).await;
        let again = waiting(&lock);
        harness.sent(Op::Acquire, 2).await;
        settle().await;
        assert_eq!(harness.acquires().len(), 2, "asks before any other can");
        harness.store.deliver().await;
        ok(joined(release).await);
        assert!(ok(joined(again).await).is_valid());
    })
    .await;
}

pub(crate) async fn try_leaves_nothing_to_others(bench: Bench) {
    rounds(bench, |round| async move {
        let (_harness, _hand, lock) = releaser(&round, 1).await;
        // No time passes.
        drop(acquired(soon("the try", lock.try_acquire()).await));
    })
    .await;
}

pub(crate) async fn hint_during_a_delay_counts(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand, lock) = releaser(&round, 1).await;
        let again = waiting(&lock);
        settle().await;
        assert!(!again.is_finished());
        // One of the others was served; the waiter leaves a slot to the other one, and one more by chance.
        passes_by(&harness).await;
        hand.advance(3 * MILLISECOND).await;
        assert!(ok(joined(again).await).is_valid());
    })
    .await;
}

pub(crate) async fn hint_during_a_delay_does_not_start_it_anew(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand, lock) = releaser(&round, 4).await;
        let asked = harness.acquires().len();
        let again = waiting(&lock);
        settle().await;
        for _ in 0..2 {
            hand.advance(MILLISECOND).await;
            passes_by(&harness).await;
        }
        assert_eq!(
            harness.acquires().len(),
            asked,
            "two more may have waited longer"
        );
        hand.advance(3 * MILLISECOND).await;
        assert!(ok(joined(again).await).is_valid());
    })
    .await;
}
