//! Properties of the frontend that need their own runtime: one that shuts down, that stalls, or that has no timers. The
//! memory provider stands for all providers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use dlock_core::{Clock, EndCause, Error, ReleaseEnd, TryAcquire};
use dlock_testkit::faults::{Fault, Op};
use tokio::runtime::{Builder, Runtime};

use super::{LEASE, driven, faulty, lock, paused, paused_lock};

/// V2: a runtime that was stalled past the deadline looks at its timers only after it has polled the tasks that were
/// ready before.
#[test]
fn work_is_not_polled_once_the_lease_is_over() {
    paused().block_on(async {
        let provider = faulty();
        provider.always(Op::Renew, Fault::LoseRequest);
        let polls = Arc::new(AtomicUsize::new(0));
        let (lock, counted) = (paused_lock(provider), Arc::clone(&polls));
        let work = async move |_token| {
            tokio::time::sleep(LEASE / 100).await;
            std::future::poll_fn(move |context| {
                if counted.fetch_add(1, Ordering::SeqCst) > 0 {
                    return Poll::Ready(());
                }
                // Time passes, and the timers do not notice.
                let stall = std::pin::pin!(tokio::time::advance(LEASE));
                assert!(stall.poll(context).is_pending());
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        };
        let answer = tokio::spawn(async move { lock.with(work).await })
            .await
            .unwrap();
        assert!(
            matches!(&answer, Err(Error::Lost(loss)) if !loss.work_finished && matches!(loss.cause, EndCause::Expired { .. })),
            "{answer:?}"
        );
        assert_eq!(polls.load(Ordering::SeqCst), 1, "polled without protection");
    });
}

/// G3.
#[test]
fn lease_dropped_after_its_runtime_neither_blocks_nor_panics() {
    let provider = faulty();
    let runtime = paused();
    let (lease, guard) = runtime.block_on(async {
        let lock = paused_lock(provider.clone());
        let guard = lock.named("gate").unwrap().hold().await.unwrap();
        (lock.acquire().await.unwrap(), guard)
    });
    drop(runtime);
    assert!(lease.is_valid(), "the lease itself continues");
    drop((lease, guard));
    assert_eq!(provider.count(Op::Release), 0, "no runtime could send it");
}

/// G3, G1: calls in progress when the runtime shuts down are cut off quietly.
#[test]
fn runtime_may_shut_down_at_any_moment() {
    for turns in 0..40 {
        let provider = faulty();
        let runtime = paused();
        runtime.block_on(async {
            let lock = paused_lock(provider.clone());
            let guard = lock.hold().await.unwrap();
            drop(tokio::spawn({
                let lock = lock.clone();
                async move { lock.acquire().await }
            }));
            drop(tokio::spawn({
                let lock = lock.named("gate").unwrap();
                async move { lock.with(|_token| std::future::pending::<()>()).await }
            }));
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            drop(guard);
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
        });
        drop(runtime);
    }
}

/// G3: a renewal and a release requested on another runtime run on the runtime that acquired.
#[test]
fn lease_is_used_from_another_runtime() {
    let provider = faulty();
    let home = driven();
    let mut lease = home.block_on(async { paused_lock(provider.clone()).acquire().await.unwrap() });
    let elsewhere = Builder::new_current_thread().build().unwrap();
    elsewhere.block_on(async {
        lease.renew().await.unwrap();
        lease.release().await.unwrap();
    });
    assert_eq!(provider.count(Op::Renew), 1);
    assert_eq!(provider.count(Op::Release), 1);
}

/// G1: a provider that panics costs one call.
#[test]
fn panic_of_a_provider_is_an_error_and_no_hang() {
    paused().block_on(async {
        let provider = faulty();
        provider.next(Op::Acquire, Fault::Panic);
        let lock = paused_lock(provider.clone());
        assert!(matches!(lock.acquire().await, Err(Error::Provider(_))));
        // The panic cost neither the turn of the next waiter nor the end of `close`.
        let lease = lock.acquire().await.unwrap();
        drop(lease);
        assert_eq!(lock.client().close().await, 0);
    });
}

/// W1: the first waiter of one task is served first, even where tasks start in any order.
#[test]
fn waiters_of_one_task_are_served_in_order_on_many_threads() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(4)
        .enable_time()
        .build()
        .unwrap();
    for _ in 0..20 {
        let served = runtime.block_on(runtime.spawn(async {
            let provider = faulty();
            let lock = paused_lock(provider.clone());
            let TryAcquire::Acquired(first) = lock.try_acquire().await.unwrap() else {
                panic!("a fresh lock is held")
            };
            let served = Arc::new(std::sync::Mutex::new(Vec::new()));
            let waiter = async |place: usize| {
                let lease = lock.acquire().await.unwrap();
                served.lock().unwrap().push(place);
                lease.release().await.unwrap();
            };
            let all = async {
                tokio::join!(biased; waiter(0), waiter(1), waiter(2), waiter(3), waiter(4), waiter(5))
            };
            let release = async {
                tokio::task::yield_now().await;
                first.release().await.unwrap();
            };
            tokio::join!(biased; all, release);
            served.lock().unwrap().clone()
        }));
        assert_eq!(served.unwrap(), [0, 1, 2, 3, 4, 5]);
    }
}

fn driven_by_hand() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap_or_else(|error| panic!("{error}"))
}

/// W1: waiters whose callers are still there, on a runtime that is not driven for a while. They lose their places to
/// waiters elsewhere, and queue again when they run again.
#[test]
fn waiters_of_an_undriven_runtime_let_others_pass() {
    let lock = lock(faulty(), Clock::system(), Duration::from_secs(3));
    let (left, runtime) = (driven_by_hand(), driven());
    let held = runtime.block_on(lock.acquire()).unwrap();
    // One of them has its turn, and two wait in line.
    let turn = async |limit: Option<Duration>| {
        let lease = match limit {
            Some(limit) => lock.acquire_timeout(limit).await,
            None => lock.acquire().await,
        };
        lease.unwrap().release().await.unwrap()
    };
    let limit = Some(100 * LEASE);
    let mut all = Box::pin(async { tokio::join!(biased; turn(None), turn(limit), turn(None)) });
    left.block_on(async {
        let waited = tokio::time::timeout(Duration::from_millis(300), &mut all).await;
        assert!(waited.is_err(), "granted beside another: {waited:?}");
    });
    runtime.block_on(async {
        assert_eq!(held.release().await.unwrap(), ReleaseEnd::Released);
        let next = lock.acquire_timeout(10 * LEASE).await;
        assert_eq!(next.unwrap().release().await.unwrap(), ReleaseEnd::Released);
    });
    let all = left.block_on(async { tokio::time::timeout(10 * LEASE, all).await });
    let released = || ReleaseEnd::Released;
    assert_eq!(all.unwrap(), (released(), released(), released()));
}

/// V7: a release awaited on another runtime than the lease's is timed by that other runtime.
#[test]
fn release_awaited_beside_an_undriven_runtime_ends() {
    let lease = Duration::from_millis(600);
    let lock = lock(faulty(), Clock::system(), lease);
    let (left, runtime) = (driven_by_hand(), driven());
    let mut held = left.block_on(lock.acquire()).unwrap();
    runtime.block_on(async {
        let renewed = tokio::time::timeout(LEASE, held.renew()).await;
        assert!(
            matches!(renewed, Ok(Err(Error::Provider(_)))),
            "{renewed:?}"
        );
        let ended = tokio::time::timeout(LEASE, held.release()).await;
        assert!(
            matches!(ended, Ok(Ok(ReleaseEnd::Unconfirmed))),
            "{ended:?}"
        );
        // It has released the lock.
        let next = lock.acquire_timeout(lease).await;
        assert_eq!(next.unwrap().release().await.unwrap(), ReleaseEnd::Released);
    });
    drop(left);
}
