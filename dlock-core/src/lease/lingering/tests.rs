//! Terms that linger, and their keepers, over a scripted store.

use std::{
    num::NonZeroU8,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Waker},
};

use tokio::{runtime::Builder, task::yield_now, time::sleep};
use tracing::{
    Metadata, Subscriber,
    span::{Attributes, Id, Record},
    subscriber::set_default,
};

use super::*;
use crate::{
    Client, Clock, DLock, Lease, Name,
    names::{Registration, Waiter},
    provider::{AcquireOutcome, Tokens},
    testing::Recorder,
    tests::scripted::{LEASE, Scripted, token},
};

/// How long the terms of these locks linger.
const LINGER: Duration = Duration::from_millis(400);

const INSTANT: Duration = Duration::from_millis(1);

/// A store whose grants bring sixteen tokens, the next time that so many are asked for.
fn store(grants: u64) -> Scripted {
    let provider = Scripted::new();
    for grant in 1..=grants {
        let tokens = Tokens::new(token(16 * grant), NonZeroU8::new(16).unwrap()).unwrap();
        provider.acquire(Ok(AcquireOutcome::Acquired(tokens)));
    }
    provider
}

fn lock_on(provider: &Scripted, clock: Clock) -> DLock {
    DLock::builder()
        .name("door")
        .provider(Client::with_clock(provider.clone(), clock))
        .owner("we")
        .duration(LEASE)
        .linger(LINGER)
        .build()
        .unwrap()
}

/// A lease that was taken from the store.
async fn lease(lock: &DLock) -> Lease {
    lock.acquire().await.unwrap()
}

/// Somebody stands in line until this is dropped.
fn somebody_in_line(lock: &DLock) -> Registration {
    struct Somebody;
    impl Waiter for Somebody {
        fn step_aside(&self) {}
    }
    let somebody: Arc<dyn Waiter> = Arc::new(Somebody);
    lock.0.state.register(Arc::downgrade(&somebody), LEASE)
}

/// How many tasks of this lock run.
fn tasks(lock: &DLock) -> usize {
    lock.0.plan.tasks.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn one_keeper_looks_after_term_after_term_and_ends() {
    let provider = store(3);
    let lock = lock_on(&provider, Clock::tokio(1.0));
    for round in 1..=40 {
        lease(&lock).await.release().await.unwrap();
        // The last of sixteen gives the term back.
        let lingers = round % 16 != 0;
        assert_eq!(tasks(&lock), usize::from(lingers), "round {round}");
    }
    assert_eq!(
        (provider.acquired().len(), provider.released().len()),
        (3, 2)
    );
    sleep(LINGER - INSTANT).await;
    assert_eq!(provider.released().len(), 2);
    sleep(2 * INSTANT).await;
    assert_eq!((provider.released().len(), tasks(&lock)), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn keeper_goes_while_a_lease_is_held_and_another_comes() {
    let provider = store(1);
    let lock = lock_on(&provider, Clock::tokio(1.0));
    lease(&lock).await.release().await.unwrap();
    let next = lease(&lock).await;
    sleep(LINGER + INSTANT).await;
    assert_eq!(tasks(&lock), 0, "nothing lingers");
    drop(next);
    assert_eq!((provider.released().len(), tasks(&lock)), (0, 1));
    sleep(LINGER + INSTANT).await;
    assert_eq!((provider.released().len(), tasks(&lock)), (1, 0));
}

/// `idle` speaks of the locks with one plan.
#[tokio::test(start_paused = true)]
async fn keeper_counts_for_the_lock_whose_term_lingers() {
    let provider = store(1);
    let lock = lock_on(&provider, Clock::tokio(1.0));
    let alike = DLock::builder()
        .name("door")
        .provider(lock.client())
        .owner("we")
        .duration(LEASE)
        .linger(LINGER / 2)
        .build()
        .unwrap();
    drop(lease(&lock).await);
    drop(lease(&alike).await);
    assert_eq!(tasks(&alike), 1);
    alike.idle().await;
    assert_eq!(provider.released().len(), 1);
}

/// A program may build its lock for each piece of work.
#[tokio::test(start_paused = true)]
async fn keepers_of_locks_that_were_built_anew_do_not_pile_up() {
    let provider = store(1);
    let lock = lock_on(&provider, Clock::tokio(1.0));
    drop(lease(&lock).await);
    let in_use = Arc::strong_count(&lock.0.store);
    for _ in 0..10 {
        let alike = DLock::builder()
            .name("door")
            .provider(lock.client())
            .owner("we")
            .duration(LEASE)
            .linger(LINGER)
            .build()
            .unwrap();
        drop(lease(&alike).await);
        // Its keeper sleeps from here on.
        sleep(INSTANT).await;
    }
    assert_eq!(provider.acquired().len(), 1);
    assert_eq!(Arc::strong_count(&lock.0.store), in_use);
}

/// Otherwise a program that has awaited both the release and `close` would end before the release is sent.
#[tokio::test(start_paused = true)]
async fn client_that_closes_while_a_term_begins_to_linger_waits_for_it() {
    #[derive(Default)]
    struct Closes {
        store: OnceLock<Arc<Store>>,
        waits: AtomicBool,
    }
    impl Recorder for Closes {
        fn record(&self, _: &Name, _: Duration, event: Event) {
            let Event::ReleaseBegan { .. } = event else {
                return;
            };
            let Some(store) = self.store.get() else {
                return;
            };
            store.close();
            let idle = pin!(store.all_idle());
            let polled = idle.poll(&mut Context::from_waker(Waker::noop()));
            self.waits.store(polled.is_pending(), Ordering::SeqCst);
        }
    }
    let provider = store(1);
    let lock = lock_on(&provider, Clock::tokio(1.0));
    let closes = Arc::new(Closes::default());
    let recorder: Arc<dyn Recorder> = Arc::<Closes>::clone(&closes);
    let client = lock.client().recorded(recorder);
    let lease = lease(&lock).await;
    closes.store.get_or_init(|| Arc::clone(&lock.0.store));
    lease.release().await.unwrap();
    assert!(closes.waits.load(Ordering::SeqCst));
    assert_eq!(client.close().await, 0);
    assert_eq!(provider.released().len(), 1);
}

/// With its runtime goes the keeper; the term runs out, and its own client need not wait for that (G4).
#[test]
fn term_whose_runtime_has_ended_is_retired() {
    let provider = store(1);
    let [first, second] =
        [(), ()].map(|()| Builder::new_current_thread().enable_all().build().unwrap());
    let lock = first.block_on(async {
        let lock = lock_on(&provider, Clock::system());
        drop(lease(&lock).await);
        lock
    });
    let term = lock.0.state.newest().unwrap();
    assert!(lock.0.state.is_offered() && lock.0.state.is_live(term));
    drop(first);
    assert!(!lock.0.state.is_offered() && !lock.0.state.is_live(term));
    assert!(lock.0.state.is_retired(&lock.0.store.clock, term));
    assert_eq!((provider.released().len(), tasks(&lock)), (0, 0));
    second.block_on(async { drop(lease(&lock).await) });
}

/// Each release runs where its lease was acquired.
#[test]
fn term_that_moves_to_another_runtime_is_kept_there() {
    let provider = store(1);
    let [first, second] =
        [(), ()].map(|()| Builder::new_current_thread().enable_all().build().unwrap());
    let lock = lock_on(&provider, Clock::system());
    for runtime in [&first, &second] {
        runtime.block_on(async { drop(lease(&lock).await) });
    }
    assert_eq!(provider.acquired().len(), 1);
    second.block_on(lock.client().close());
    assert_eq!(provider.released().len(), 1, "nobody drives the first");
}

/// It is replaced by one on the other runtime.
#[test]
fn keeper_that_a_term_has_left_ends_and_ends_nothing() {
    let provider = store(1);
    let [first, second] =
        [(), ()].map(|()| Builder::new_current_thread().enable_all().build().unwrap());
    let lock = lock_on(&provider, Clock::manual().0);
    let settles = async || {
        for _ in 0..10 {
            yield_now().await;
        }
    };
    for runtime in [&first, &second] {
        runtime.block_on(async {
            drop(lease(&lock).await);
            settles().await;
        });
    }
    let in_use = || Arc::strong_count(&lock.0.store);
    let before = in_use();
    first.block_on(settles());
    assert_eq!(in_use(), before - 1);
    drop(first);
    assert!(lock.0.state.is_offered());
}

/// While somebody is in line, nobody else takes what lingers.
#[tokio::test(start_paused = true)]
async fn term_that_lingers_is_the_first_waiters() {
    let provider = store(2);
    let lock = lock_on(&provider, Clock::tokio(1.0));
    drop(lease(&lock).await);
    let in_line = somebody_in_line(&lock);
    drop(lock.try_acquire().await.unwrap());
    assert_eq!(provider.acquired().len(), 2, "it asks");
    drop(in_line);
}

/// Unlike a term that was offered to those in line (S4).
#[tokio::test(start_paused = true)]
async fn term_that_lingers_stays_when_a_waiter_that_came_later_leaves() {
    let provider = store(1);
    let lock = lock_on(&provider, Clock::tokio(1.0));
    drop(lease(&lock).await);
    drop(somebody_in_line(&lock));
    assert!(lock.0.state.is_offered());
    drop(lease(&lock).await);
    assert_eq!(provider.acquired().len(), 1);
}

/// Where somebody is in line, the term goes on as ever (S1).
#[tokio::test(start_paused = true)]
async fn term_lingers_for_nobody_in_line() {
    let provider = store(1);
    let lock = lock_on(&provider, Clock::tokio(1.0));
    let first = lease(&lock).await;
    let next = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await }
    });
    sleep(INSTANT).await;
    let before = tasks(&lock);
    first.release().await.unwrap();
    let next = next.await.unwrap().unwrap();
    assert_eq!((before, tasks(&lock)), (1, 0), "no keeper");
    assert_eq!(next.token().get(), 2);
}

/// Its keeper may be late: its runtime was busy, or the machine slept.
#[tokio::test]
async fn term_that_has_lingered_for_its_time_is_not_taken() {
    let provider = store(2);
    let (clock, hand) = Clock::manual();
    let lock = lock_on(&provider, clock);
    drop(lease(&lock).await);
    hand.advance(LINGER);
    drop(lease(&lock).await);
    assert_eq!(
        (provider.acquired().len(), provider.released().len()),
        (2, 1)
    );
}

#[test]
fn acquire_that_panics_outside_of_a_runtime_leaves_the_term() {
    let provider = store(1);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let lock = runtime.block_on(async {
        let lock = lock_on(&provider, Clock::system());
        drop(lease(&lock).await);
        lock
    });
    let mut acquire = pin!(lock.acquire());
    let mut context = Context::from_waker(Waker::noop());
    let polled = catch_unwind(AssertUnwindSafe(|| acquire.as_mut().poll(&mut context)));
    assert!(polled.is_err());
    assert!(lock.0.state.is_offered());
    assert_eq!(runtime.block_on(lock.client().close()), 0);
    assert_eq!(provider.released().len(), 1);
}

/// Two panics at a time would abort the process.
#[tokio::test(start_paused = true)]
async fn subscriber_may_panic_at_each_end_of_a_span() {
    struct Panics;
    impl Subscriber for Panics {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {
            panic!("on purpose");
        }
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &tracing::Event<'_>) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
        fn try_close(&self, _: Id) -> bool {
            panic!("on purpose");
        }
    }
    let provider = store(1);
    let lock = lock_on(&provider, Clock::tokio(1.0));
    drop(lease(&lock).await);
    let _panics = set_default(Panics);
    assert!(lease(&lock).await.is_valid());
}
