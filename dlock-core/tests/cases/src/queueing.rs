//! W1, W7, I18: one contender per name, waiters in the order in which they came.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use dlock_core::Error;
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};

use super::harness::{
    acquired, eventually, held, joined, lock, ok, poll_once, rounds, settle, soon, trying, waiting,
};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

pub(crate) async fn waiters_of_one_client_are_one_contender(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let (_subject, _other) = harness.taken_by_another("").await;
        let lock = lock!(harness, "", poll_every = 5 * SECOND);
        let waiters: Vec<_> = (0..5).map(|_| waiting(&lock.clone())).collect();
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        assert_eq!(harness.acquires().len(), 1, "more than one contends");
        hand.advance(6 * SECOND).await;
        harness.asked(2).await;
        settle().await;
        assert_eq!(harness.questions(), 2, "more than one contends");
        waiters.iter().for_each(tokio::task::JoinHandle::abort);
    })
    .await;
}

pub(crate) async fn waiters_are_served_in_the_order_they_came(bench: Bench) {
    rounds(bench, |round| async move {
        let harness = round.harness().await;
        harness.deafen();
        let (subject, other) = harness.taken_by_another("").await;
        let lock = lock!(harness, "", poll_every = Duration::from_millis(40));
        let served = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for place in 0..8 {
            let lock = lock.clone();
            let mut acquire = Box::pin(async move { lock.acquire().await });
            assert!(poll_once(acquire.as_mut()).is_pending());
            let served = Arc::clone(&served);
            tasks.push(crate::spawn(async move {
                let lease = ok(acquire.await);
                served
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(place);
                ok(lease.release().await);
            }));
        }
        // No process has an advantage when the lock becomes free.
        tokio::time::sleep(Duration::from_millis(200)).await;
        subject.releases(&other, None).await;
        for task in tasks {
            joined(task).await;
        }
        let served = served
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        assert!(served.is_sorted(), "served in the order {served:?}");
    })
    .await;
}

pub(crate) async fn try_stands_in_no_queue(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        harness.deafen();
        let (_subject, other) = harness.taken_by_another("").await;
        let lock = lock!(harness, "", poll_every = HOUR);
        let waiter = waiting(&lock);
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        let holder = held(joined(trying(&lock)).await);
        assert_eq!(holder.record.uuid, other.new);
        assert!(!holder.ours);
        assert_eq!(harness.acquires().len(), 2, "one try");
        // A zero limit is a try.
        match soon("the answer", lock.acquire_timeout(Duration::ZERO)).await {
            Err(Error::Timeout {
                holder: Some(holder),
                ..
            }) => assert_eq!(holder.record.uuid, other.new),
            other => panic!("{other:?}"),
        }
        assert_eq!(harness.acquires().len(), 3, "one try");
        waiter.abort();
    })
    .await;
}

pub(crate) async fn own_release_wakes_the_next_waiter(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "", poll_every = HOUR);
        let first = acquired(lock.try_acquire().await);
        // One after the other: the first waiter is served first, and its lease is dropped first.
        let head = waiting(&lock);
        harness.sent(Op::Acquire, 2).await;
        settle().await;
        let waiters = [head, waiting(&lock)];
        settle().await;
        ok(soon("the release", first.release()).await);
        // No time passes.
        for waiter in waiters {
            drop(ok(joined(waiter).await));
        }
    })
    .await;
}

pub(crate) async fn release_of_an_orphan_wakes_the_next_waiter(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.deafen();
        let lock = lock!(harness, "", poll_every = HOUR);
        // A try takes the lock and never learns that it did.
        harness.store.next(Op::Acquire, Fault::LoseReply);
        let orphan = trying(&lock);
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        let waiter = waiting(&lock);
        harness.sent(Op::Acquire, 2).await;
        settle().await;
        assert!(!waiter.is_finished());
        harness.store.next(Op::Acquire, Fault::LoseReply);
        hand.advance(10 * SECOND).await;
        hand.advance(SECOND).await;
        hand.advance(10 * SECOND).await;
        // It is abandoned, and released.
        assert!(joined(orphan).await.is_err());
        eventually("the waiter's turn", || waiter.is_finished()).await;
        assert!(ok(joined(waiter).await).is_valid());
    })
    .await;
}
