//! Handing a lock on within one client, where a case cannot look: a runtime that stands still, and what it costs and
//! gains.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{Client, Clock, DLock, ReleaseEnd};
use dlock_testkit::{
    faults::{Fault, Faulty, Op},
    memory::{MemoryProvider, MemoryStore},
};
use tokio::{
    runtime::{Builder, Runtime},
    time::{Instant, sleep, timeout},
};

const LEASE: Duration = Duration::from_secs(3);

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(10);

type Store = Faulty<MemoryProvider>;

fn faulty() -> Store {
    Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()))
}

fn lock(provider: &Store, clock: Clock) -> DLock {
    DLock::builder()
        .name("door")
        .provider(Client::with_clock(provider.clone(), clock))
        .duration(LEASE)
        .build()
        .unwrap_or_else(|error| panic!("{error}"))
}

fn runtime(paused: bool) -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(paused)
        .build()
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A waiter that has been refused, on a runtime of its own that runs no further.
fn waiter_elsewhere(provider: &Store, lock: &DLock) -> Runtime {
    let elsewhere = runtime(false);
    let lock = lock.clone();
    elsewhere.block_on(async {
        tokio::spawn(async move { lock.acquire().await.map(drop) });
        let refused = async {
            while provider.count(Op::Acquire) < 2 {
                sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(PATIENCE, refused)
            .await
            .unwrap_or_else(|_| panic!("the waiter does not ask"));
        // Until it has its answer.
        sleep(Duration::from_millis(20)).await;
    });
    elsewhere
}

/// Its waiter cannot come for it, and others must not wait for that.
#[test]
fn runtime_that_stands_still_holds_no_release_up() {
    let (home, provider) = (runtime(false), faulty());
    let lock = lock(&provider, Clock::system());
    let lease = home.block_on(lock.acquire()).unwrap();
    let elsewhere = waiter_elsewhere(&provider, &lock);
    let began = Instant::now();
    let ended = home.block_on(lease.release()).unwrap();
    assert_eq!(ended, ReleaseEnd::Released);
    assert_eq!(provider.count(Op::Release), 1);
    // A tenth of the lease, on a machine that may be busy.
    assert!(began.elapsed() < LEASE / 2, "after {:?}", began.elapsed());
    drop(elsewhere);
}

/// Eight tasks on one name, five milliseconds each, on a store that is a millisecond away: hardly a command a lease,
/// more leases than with a round trip each, and as many for each task.
#[test]
fn going_on_costs_no_call_and_is_fair() {
    let (leases, possible, commands) = eight_tasks(|lock, _task| lock.clone());
    assert!(commands * 5 <= leases, "{commands} commands");
    assert!(leases > possible, "{leases}, with a round trip {possible}");
}

/// The same where terms do not go on, since each task has a label of its own: a release and an acquire for each lease.
#[test]
fn locks_of_their_own_cost_a_release_and_an_acquire_and_are_fair() {
    let (grants, possible, commands) =
        eight_tasks(|lock, task| lock.owned_by(format!("task {task}")).unwrap());
    assert!(commands * 10 <= grants * 21, "{commands} commands");
    assert!(grants * 100 >= possible * 84, "{grants} of {possible}");
}

/// How many leases they had, how many grants are possible, and how many commands were sent.
fn eight_tasks(lock_of: impl Fn(&DLock, usize) -> DLock) -> (usize, usize, usize) {
    const TASKS: usize = 8;
    const SECTION: Duration = Duration::from_millis(5);
    const TRIP: Duration = Duration::from_millis(1);
    const SPAN: Duration = Duration::from_secs(60);

    runtime(true).block_on(async {
        let provider = faulty();
        provider.everything(Fault::DelayRequest(TRIP));
        let lock = lock(&provider, Clock::tokio(1.0));
        let served: Arc<Vec<AtomicUsize>> = Arc::new((0..TASKS).map(|_| 0.into()).collect());
        let until = Instant::now() + SPAN;
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let (lock, served) = (lock_of(&lock, task), Arc::clone(&served));
                tokio::spawn(async move {
                    while Instant::now() < until {
                        let lease = lock.acquire().await.unwrap();
                        sleep(SECTION).await;
                        served[task].fetch_add(1, Ordering::Relaxed);
                        lease.release().await.unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let served: Vec<_> = served
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .collect();
        let grants: usize = served.iter().sum();
        let commands = provider.count(Op::Acquire) + provider.count(Op::Release);
        let possible = SPAN.as_millis() / (SECTION + TRIP).as_millis();
        println!("{grants} of {possible} possible grants, {commands} commands, each: {served:?}");
        let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
        assert!(most * 5 <= least * 6, "unequal: {served:?}");
        (grants, usize::try_from(possible).unwrap(), commands)
    })
}
