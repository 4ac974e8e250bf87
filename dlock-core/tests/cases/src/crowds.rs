//! W8: no client monopolises a name while others wait, however many tasks contend in it. A process is a client here,
//! over its own provider.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{DLock, Error};
use dlock_testkit::Bench;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::harness::{Round, eventually, joined, lock, ok, rounds};

/// How long each task holds the lock.
const WORK: Duration = Duration::from_millis(20);

/// How often that is tried, each time with new clients.
const TIMES: usize = 3;

pub(crate) async fn crowded_client_lets_others_in(bench: Bench) {
    beside_crowds(bench, [true, true]).await;
}

pub(crate) async fn crowded_client_lets_others_in_without_hints(bench: Bench) {
    beside_crowds(bench, [false, false]).await;
}

pub(crate) async fn crowded_client_with_hints_lets_in_one_that_polls(bench: Bench) {
    beside_crowds(bench, [true, false]).await;
}

/// The array says whether the crowd hears hints, and whether the other client does.
async fn beside_crowds(bench: Bench, [crowd_hears, hears]: [bool; 2]) {
    rounds(bench, |round| async move {
        let second = Duration::from_secs(1);
        let poll = (round.lease / 10).clamp(second / 10, second);
        // And the calls of both, on a slow store.
        let calls = 4 * pair(&round).await;
        // A waiter that does not hear the hints learns of it by its second mark.
        let again = if crowd_hears && !hears {
            poll / 2
        } else {
            Duration::ZERO
        };
        let bound = round.lease / 5 + WORK + poll + again + calls;
        for (tasks, time) in [2, 8]
            .into_iter()
            .flat_map(|tasks| (1..=TIMES).map(move |time| (tasks, time)))
        {
            let (crowded, other) = (round.harness().await, round.harness().await);
            let label = format!("{tasks} tasks, {time}");
            let lock = lock!(crowded, &label, wakeups = crowd_hears, owner = "crowded");
            let crowd = Crowd::of(tasks, &lock);
            eventually("a few terms", || crowd.terms() >= 3).await;
            let lock = lock!(other, &label, wakeups = hears, owner = "alone");
            let before = crowd.terms();
            let lease = match lock.acquire_timeout(bound).await {
                Ok(lease) => lease,
                Err(Error::Timeout { .. }) => panic!(
                    "not let in within {bound:?} by a client of {tasks} waiters, which had {} \
                     terms meanwhile",
                    crowd.terms() - before
                ),
                Err(error) => panic!("{error:?}"),
            };
            ok(lease.release().await);
            crowd.disperse().await;
        }
    })
    .await;
}

pub(crate) async fn crowded_clients_take_turns(bench: Bench) {
    among_crowds(bench, true).await;
}

pub(crate) async fn crowded_clients_take_turns_without_hints(bench: Bench) {
    among_crowds(bench, false).await;
}

/// Some clients of two tasks each, on a store whose terms do not continue: there, only N6 to N8 let others in. In a
/// steady round, a client waits for three turns of others.
async fn among_crowds(bench: Bench, hints: bool) {
    const CROWDS: usize = 4;
    const LONG: usize = 2 * (CROWDS - 1);
    const MOST: usize = 4 * LONG;
    rounds(bench, |round| async move {
        let mut crowds = Vec::new();
        for number in 0..CROWDS {
            let harness = round.harness().await;
            harness.interceptor.mints_one_token();
            let owner = format!("process {number}");
            let lock = lock!(harness, "", wakeups = hints, owner = owner);
            crowds.push((Crowd::of(2, &lock), harness));
        }
        eventually("a term of each", || {
            crowds.iter().all(|(crowd, _)| crowd.terms() > 0)
        })
        .await;
        sleep(200 * round.lease).await;
        let turns = turns(&crowds.iter().map(|(crowd, _)| crowd).collect::<Vec<_>>());
        let others = |number| turns.split(move |by| *by == number).map(<[_]>::len);
        for number in 0..CROWDS {
            let passed = others(number).max().unwrap_or_default();
            assert!(
                passed <= MOST,
                "{passed} turns of others went by between two of process {number}, at most {MOST} may"
            );
        }
        let long = (0..CROWDS).flat_map(others).filter(|passed| *passed > LONG);
        let (long, all) = (long.count(), turns.len());
        // Clients that poll come in no order (N8).
        let often = if hints { 32 } else { 8 };
        assert!(
            often * long <= all,
            "more than {LONG} turns of others went by before {long} turns of {all}"
        );
        for (crowd, _) in crowds {
            crowd.disperse().await;
        }
    })
    .await;
}

/// The crowds in the order of their turns. A turn consists of all terms of one crowd between those of others.
fn turns(crowds: &[&Crowd]) -> Vec<usize> {
    let mut terms: Vec<(Instant, usize)> = (0..)
        .zip(crowds)
        .flat_map(|(number, crowd)| {
            crowd
                .began()
                .iter()
                .map(|at| (*at, number))
                .collect::<Vec<_>>()
        })
        .collect();
    terms.sort_unstable();
    let mut turns: Vec<usize> = terms.into_iter().map(|(_, number)| number).collect();
    turns.dedup();
    turns
}

/// How long an acquire and a release take.
async fn pair(round: &Round) -> Duration {
    let lock = lock!(round.harness().await, "pair");
    let began = Instant::now();
    ok(ok(lock.acquire().await).release().await);
    began.elapsed()
}

/// Tasks of one client that take the lock for [`WORK`] and request it again at once.
struct Crowd {
    tasks: Vec<JoinHandle<()>>,
    /// When each of their terms began.
    began: Arc<Mutex<Vec<Instant>>>,
    stopped: Arc<AtomicBool>,
}

impl Crowd {
    fn of(size: usize, lock: &DLock) -> Self {
        let (began, stopped) = (Arc::<Mutex<_>>::default(), Arc::<AtomicBool>::default());
        let task = |_| {
            let (lock, began, stopped) = (lock.clone(), Arc::clone(&began), Arc::clone(&stopped));
            crate::spawn(async move {
                while !stopped.load(Ordering::SeqCst) {
                    let lease = ok(lock.acquire().await);
                    locked(&began).push(Instant::now());
                    sleep(WORK).await;
                    ok(lease.release().await);
                }
            })
        };
        Self {
            tasks: (0..size).map(task).collect(),
            began,
            stopped,
        }
    }

    /// How often they have held the lock.
    fn terms(&self) -> usize {
        self.began().len()
    }

    fn began(&self) -> MutexGuard<'_, Vec<Instant>> {
        locked(&self.began)
    }

    /// Ends the crowd, with all its tasks.
    async fn disperse(self) {
        self.stopped.store(true, Ordering::SeqCst);
        for task in self.tasks {
            joined(task).await;
        }
    }
}

fn locked(began: &Mutex<Vec<Instant>>) -> MutexGuard<'_, Vec<Instant>> {
    began.lock().unwrap_or_else(PoisonError::into_inner)
}
