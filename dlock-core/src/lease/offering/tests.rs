//! Terms on offer to waiters in line, and their keepers, over a scripted store.

use std::{
    num::NonZeroU8,
    pin::pin,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Waker},
};

use tokio::{runtime::Builder, time::sleep};

use super::*;
use crate::{
    Client, Clock, DLock, Lease, Name, Record,
    lease::Settings,
    names::Registration,
    provider::{AcquireOutcome, Tokens},
    testing::Recorder,
    tests::scripted::{LEASE, Scripted, record, token},
};

/// How long the terms of these locks continue.
const YOUNG: Duration = Duration::from_secs(1);

const INSTANT: Duration = Duration::from_millis(1);

/// A store whose grants bring sixteen tokens, the next time that this many are asked for.
fn store(grants: u64) -> Scripted {
    let provider = Scripted::new();
    for grant in 1..=grants {
        let tokens = Tokens::new(token(16 * grant), NonZeroU8::new(16).unwrap()).unwrap();
        provider.acquire(Ok(AcquireOutcome::Acquired(tokens)));
    }
    provider
}

fn lock_on(client: Client) -> DLock {
    DLock::builder()
        .name("door")
        .provider(client)
        .owner("we")
        .duration(LEASE)
        .build()
        .unwrap()
}

fn lock_by(provider: &Scripted, clock: Clock) -> DLock {
    lock_on(Client::with_clock(provider.clone(), clock))
}

/// The lease that is on offer, or one that is taken from the store.
async fn lease(lock: &DLock) -> Lease {
    lock.acquire().await.unwrap()
}

/// A waiter in line on this runtime until this is dropped, which leaves the turn to others.
fn waiter_in_line(lock: &DLock) -> Registration {
    lock.0.state.register()
}

/// The number of running tasks of this lock.
fn tasks(lock: &DLock) -> usize {
    lock.0.plan.tasks.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn one_keeper_looks_after_term_after_term_and_ends() {
    let provider = store(3);
    let lock = lock_by(&provider, Clock::tokio(1.0));
    let _in_line = waiter_in_line(&lock);
    for round in 1..=40 {
        lease(&lock).await.release().await.unwrap();
        // The last of sixteen releases the term.
        let goes_on = round % 16 != 0;
        assert_eq!(tasks(&lock), usize::from(goes_on), "round {round}");
    }
    assert_eq!(
        (provider.acquired().len(), provider.released().len()),
        (3, 2)
    );
    sleep(YOUNG - INSTANT).await;
    assert_eq!(provider.released().len(), 2);
    sleep(2 * INSTANT).await;
    assert_eq!((provider.released().len(), tasks(&lock)), (3, 0));
}

/// `idle` concerns the locks with one plan.
#[tokio::test(start_paused = true)]
async fn keeper_counts_for_the_lock_whose_term_is_on_offer() {
    let provider = store(1);
    let lock = lock_by(&provider, Clock::tokio(1.0));
    let _in_line = waiter_in_line(&lock);
    let alike = lock_on(lock.client());
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
    let lock = lock_by(&provider, Clock::tokio(1.0));
    let _in_line = waiter_in_line(&lock);
    drop(lease(&lock).await);
    let in_use = Arc::strong_count(&lock.0.store);
    for _ in 0..10 {
        drop(lease(&lock_on(lock.client())).await);
        // Its keeper sleeps from here on.
        sleep(INSTANT).await;
    }
    assert_eq!(provider.acquired().len(), 1);
    assert_eq!(Arc::strong_count(&lock.0.store), in_use);
}

/// Otherwise a program that has awaited both the release and `close` would end before the release is sent.
#[tokio::test(start_paused = true)]
async fn client_that_closes_while_a_term_is_offered_waits_for_it() {
    #[derive(Default)]
    struct Closes {
        store: OnceLock<Arc<Store>>,
        waits: AtomicBool,
    }
    impl Recorder for Closes {
        fn record(&self, _: &Name, _: Duration, event: Event) {
            let Event::ReleaseBegan(..) = event else {
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
    let lock = lock_by(&provider, Clock::tokio(1.0));
    let _in_line = waiter_in_line(&lock);
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

/// The keeper ends with its runtime; the term runs out, and its own client need not wait for that.
#[test]
fn term_whose_runtime_has_ended_is_retired() {
    let provider = store(1);
    let [first, second] =
        [(), ()].map(|()| Builder::new_current_thread().enable_all().build().unwrap());
    let (lock, _in_line) = first.block_on(async {
        let lock = lock_by(&provider, Clock::system());
        let in_line = waiter_in_line(&lock);
        drop(lease(&lock).await);
        (lock, in_line)
    });
    let (term, home) = (lock.0.state.newest().unwrap(), first.handle().id());
    assert!(lock.0.state.is_offered(home) && lock.0.state.is_live(term));
    drop(first);
    assert!(!lock.0.state.is_offered(home) && !lock.0.state.is_live(term));
    assert!(lock.0.state.is_retired(&lock.0.store.clock, term));
    assert_eq!((provider.released().len(), tasks(&lock)), (0, 0));
    second.block_on(async { drop(lease(&lock).await) });
}

/// The keeper runs where the lease was acquired, and no thread drives that runtime.
#[test]
fn waiter_elsewhere_ends_what_has_been_on_offer_for_its_time() {
    let provider = store(1);
    let [first, second] =
        [(), ()].map(|()| Builder::new_current_thread().enable_all().build().unwrap());
    let (clock, hand) = Clock::manual();
    let lock = lock_by(&provider, clock);
    let _in_line = first.block_on(async {
        let in_line = waiter_in_line(&lock);
        drop(lease(&lock).await);
        in_line
    });
    let Settings { store, state, .. } = &*lock.0;
    let (term, offered) = (state.newest().unwrap(), first.handle().id());
    let tries = || second.block_on(async { lock.try_acquire().await.map(drop) });
    for late in [false, true] {
        let held = Record {
            uuid: term,
            ..record(16, "we")
        };
        provider.acquire(Ok(AcquireOutcome::Held(held)));
        tries().unwrap();
        assert_eq!(state.is_offered(offered), !late);
        assert_eq!(state.is_retired(&store.clock, term), late);
        hand.advance(YOUNG);
    }
    let claims: Vec<_> = provider.acquired().iter().map(|sent| sent.prev).collect();
    let claimed = claims.last().unwrap().map(|version| version.uuid);
    assert_eq!((claims.len(), claimed), (4, Some(term)), "{claims:?}");
}

/// A term continues where it was acquired.
#[test]
fn term_is_on_offer_to_no_waiter_on_another_runtime() {
    let provider = store(2);
    let [first, second] =
        [(), ()].map(|()| Builder::new_current_thread().enable_all().build().unwrap());
    let lock = lock_by(&provider, Clock::system());
    let _in_line = first.block_on(async {
        let in_line = waiter_in_line(&lock);
        drop(lease(&lock).await);
        in_line
    });
    second.block_on(async { drop(lease(&lock).await) });
    assert_eq!(provider.acquired().len(), 2, "it asks");
}

/// A caller outside of the line calls the store.
#[tokio::test(start_paused = true)]
async fn term_on_offer_is_the_first_waiters() {
    let provider = store(2);
    let lock = lock_by(&provider, Clock::tokio(1.0));
    let _in_line = waiter_in_line(&lock);
    drop(lease(&lock).await);
    drop(lock.try_acquire().await.unwrap());
    assert_eq!(provider.acquired().len(), 2, "it asks");
}
