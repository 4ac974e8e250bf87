//! Handing a lock on within one client, measured where a case cannot: its cost and its gain.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{Clock, DLock};
use dlock_testkit::faults::{Fault, Op};
use tokio::time::{Instant, sleep};

use super::{faulty, lock, paused};

const LEASE: Duration = Duration::from_secs(3);

/// Eight tasks on one name, five milliseconds each, on a store that is a millisecond away: hardly a command per lease,
/// more leases than with a round trip each, and equally many for each task.
#[test]
fn going_on_costs_no_call_and_is_fair() {
    let (leases, possible, commands) = eight_tasks(|lock, _task| lock.clone());
    assert!(commands * 5 <= leases, "{commands} commands");
    assert!(leases > possible, "{leases}, with a round trip {possible}");
}

/// The same where terms do not continue, since each task has its own label: a release and an acquire for each lease.
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

    paused().block_on(async {
        let provider = faulty();
        provider.everything(Fault::DelayRequest(TRIP));
        let lock = lock(provider.clone(), Clock::tokio(1.0), LEASE);
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
