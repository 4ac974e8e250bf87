//! Locks on threads: a drop releases, work learns of a loss, and nothing waits on a thread of an async runtime.

#![expect(
    clippy::disallowed_methods,
    reason = "what is measured is how long a thread waits"
)]
#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use dlock_blocking::{DLock, Runtime, TryAcquire};
use dlock_core::{Client, Error, Provider, State};
use dlock_memory::{MemoryProvider, MemoryStore};
use dlock_testkit::faults::{Fault, Faulty, Op};

/// Longer than a busy machine keeps a thread waiting.
const LEASE: Duration = Duration::from_secs(12);
/// For events that must happen, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

fn on(runtime: &Runtime, provider: impl Provider) -> DLock {
    of_lease(LEASE, runtime, provider)
}

fn of_lease(lease: Duration, runtime: &Runtime, provider: impl Provider) -> DLock {
    let lock = dlock_core::DLock::builder()
        .name("door")
        .duration(lease)
        .provider(Client::new(provider))
        .build();
    runtime.lock(lock.unwrap())
}

/// Whether another process could have the lock at once.
fn is_free(store: &MemoryStore) -> bool {
    let other = on(&Runtime::new().unwrap(), MemoryProvider::new(store));
    matches!(other.try_acquire().unwrap(), TryAcquire::Acquired(_))
}

#[test]
fn work_runs_under_the_lock_and_others_have_it_afterwards() {
    let store = MemoryStore::store_clock();
    let lock = on(&Runtime::new().unwrap(), MemoryProvider::new(&store));
    let token = lock
        .with(|guard| {
            assert!(guard.is_valid());
            assert!(!is_free(&store));
            guard.token()
        })
        .unwrap();
    assert!(is_free(&store));
    assert!(lock.acquire().unwrap().token() > token);
}

#[test]
fn an_error_of_the_work_is_the_answer() {
    let store = MemoryStore::store_clock();
    let lock = on(&Runtime::new().unwrap(), MemoryProvider::new(&store));
    let answer: Result<(), Box<dyn std::error::Error>> =
        lock.with_result(|_| Err("no paper".into()));
    assert_eq!(answer.unwrap_err().to_string(), "no paper");
    assert!(is_free(&store));
}

#[test]
fn what_is_dropped_is_given_back_before_the_drop_returns() {
    let store = MemoryStore::store_clock();
    let provider = Faulty::new(MemoryProvider::new(&store));
    let lock = on(&Runtime::new().unwrap(), provider.clone());
    for hold in [true, false] {
        provider.next(Op::Release, Fault::DelayRequest(Duration::from_millis(300)));
        let lease = lock.acquire().unwrap();
        if hold {
            drop(lease.keep_alive());
        } else {
            drop(lease);
        }
        assert!(is_free(&store), "held: {hold}");
    }
}

#[test]
fn work_that_panics_gives_the_lock_back() {
    let store = MemoryStore::store_clock();
    let lock = on(&Runtime::new().unwrap(), MemoryProvider::new(&store));
    let panic = catch_unwind(AssertUnwindSafe(|| lock.with(|_| panic!("no paper"))));
    assert!(panic.is_err());
    assert!(is_free(&store));
}

#[test]
fn a_release_without_an_answer_keeps_nobody_longer_than_a_sixth_of_the_lease() {
    let provider = Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()));
    let lease = 5 * LEASE;
    let lock = of_lease(lease, &Runtime::new().unwrap(), provider.clone());
    let guard = lock.hold().unwrap();
    provider.always(Op::Release, Fault::LoseReply);
    let begun = Instant::now();
    drop(guard);
    assert!(begun.elapsed() >= lease / 6);
    assert!(begun.elapsed() < lease / 2, "{:?}", begun.elapsed());
}

#[test]
fn a_lease_is_renewed_while_its_thread_is_busy() {
    let store = MemoryStore::store_clock();
    let lock = on(&Runtime::new().unwrap(), MemoryProvider::new(&store));
    lock.with(|guard| {
        let granted = store.writes();
        let deadline = Instant::now() + PATIENCE;
        while store.writes() == granted {
            assert!(Instant::now() < deadline, "no renewal");
            thread::sleep(Duration::from_millis(20));
        }
        assert!(matches!(guard.state(), State::Valid));
    })
    .unwrap();
}

#[test]
fn a_lease_is_renewed_by_hand() {
    let store = MemoryStore::store_clock();
    let lock = on(&Runtime::new().unwrap(), MemoryProvider::new(&store));
    let mut lease = lock.acquire().unwrap();
    let granted = store.writes();
    lease.renew().unwrap();
    assert_eq!(store.writes(), granted + 1);
    store.wipe();
    assert!(matches!(lease.renew(), Err(Error::Lost(_))));
}

#[test]
fn a_loss_ends_the_pause_and_is_told_and_the_work_fails() {
    let store = MemoryStore::store_clock();
    let lock = on(&Runtime::new().unwrap(), MemoryProvider::new(&store));
    let (tell, told) = mpsc::channel();
    let answer = lock.with(|guard| {
        guard.on_loss(move |end| drop(tell.send(end)));
        assert!(guard.sleep(Duration::from_millis(1)).is_none());
        store.wipe();
        let end = guard.sleep(PATIENCE);
        assert!(end.unwrap().is_loss());
        assert!(!guard.is_valid());
    });
    assert!(matches!(answer, Err(Error::Lost(end)) if end.work_finished));
    assert!(told.recv_timeout(PATIENCE).unwrap().is_loss());
}

#[test]
fn nothing_is_told_of_a_lease_that_was_given_back() {
    let store = MemoryStore::store_clock();
    let runtime = Runtime::new().unwrap();
    let lock = on(&runtime, MemoryProvider::new(&store));
    let (tell, told) = mpsc::channel();
    let guard = lock.hold().unwrap();
    guard.on_loss(move |end| drop(tell.send(end)));
    guard.release().unwrap();
    // The sender is dropped with the action.
    assert!(matches!(
        told.recv_timeout(PATIENCE),
        Err(mpsc::RecvTimeoutError::Disconnected)
    ));
}

#[test]
fn a_ticket_is_redeemed() {
    let store = MemoryStore::store_clock();
    let runtime = Runtime::new().unwrap();
    let (giver, taker) = (
        on(&runtime, MemoryProvider::new(&store)),
        on(&runtime, MemoryProvider::new(&store)),
    );
    let guard = giver.hold().unwrap();
    let token = guard.token();
    let ticket = guard.hand_over().unwrap();
    let lease = taker.redeem(&ticket).within(PATIENCE).unwrap();
    assert!(lease.token() > token);
    assert!(matches!(giver.try_acquire().unwrap(), TryAcquire::Held(_)));
}

#[test]
fn a_limit_ends_the_waiting() {
    let store = MemoryStore::store_clock();
    let runtime = Runtime::new().unwrap();
    let lock = on(&runtime, MemoryProvider::new(&store));
    let _held = lock.hold().unwrap();
    let other = on(&runtime, MemoryProvider::new(&store));
    let answer = other.acquire_timeout(Duration::from_millis(50));
    assert!(matches!(answer, Err(Error::Timeout { .. })));
}

/// The threads of `spawn_blocking` are of an async runtime, too. The runtime of the lock ends with the lease.
#[test]
fn what_is_dropped_on_a_thread_of_an_async_runtime_is_given_back_first() {
    let foreign = tokio_of_a_test();
    for blocking in [true, false] {
        let store = MemoryStore::store_clock();
        let provider = Faulty::new(MemoryProvider::new(&store));
        provider.next(Op::Release, Fault::DelayRequest(Duration::from_millis(300)));
        let guard = on(&tokio_of_a_test(), provider).hold().unwrap();
        foreign.block_on(async move {
            if blocking {
                let dropped = tokio::task::spawn_blocking(move || drop(guard));
                dropped.await.unwrap();
            } else {
                drop(guard);
            }
        });
        assert!(is_free(&store), "spawn_blocking: {blocking}");
    }
}

fn tokio_of_a_test() -> Runtime {
    Runtime::new().unwrap()
}
