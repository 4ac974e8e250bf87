//! Which renewals travel together, how many calls are in flight, and when a queue is done.

use std::{iter, sync::Arc};

use super::*;
use crate::renewals::tests::{INSTANT, LEASE, SECOND, Scene};

/// A queue, and terms for it.
struct Sender {
    scene: Scene,
    queue: SendQueue,
}

impl Sender {
    fn new(batches: bool) -> Self {
        Self {
            scene: Scene::new(batches),
            queue: SendQueue::new(batches),
        }
    }

    /// A renewal is due, of a lease with this much left.
    fn push(&mut self, left: Duration, health: Health) -> Arc<Term> {
        let (term, now) = (self.scene.term("door"), self.scene.now());
        let entry = Entry {
            term: Arc::clone(&term),
            health,
        };
        self.queue.push(now + left, entry, now);
        term
    }

    fn due(&mut self) -> Option<usize> {
        self.queue.next_due().map(|items| items.len())
    }

    fn retry(&mut self) -> Option<usize> {
        self.queue.next_retry().map(|items| items.len())
    }

    /// The number of renewals in each call of retries that may be sent now.
    fn retries(&mut self) -> Vec<usize> {
        iter::from_fn(|| self.retry()).collect()
    }
}

#[test]
fn durations_of_one_class_are_alike() {
    let mut shortest = 100;
    for millis in 100..1_000_000 {
        let (first, this) = (
            class(Duration::from_millis(shortest)),
            class(Duration::from_millis(millis)),
        );
        if first == this {
            assert!(millis * 4 < shortest * 5, "{shortest} and {millis}");
        } else {
            assert!(first < this, "{shortest} and {millis}");
            shortest = millis;
        }
    }
    assert_eq!(
        class(Duration::from_secs(15)),
        class(Duration::from_secs(15))
    );
    class(Duration::from_secs(86_400));
}

#[tokio::test]
async fn lease_with_little_time_left_goes_with_the_retries() {
    let mut sender = Sender::new(true);
    // Three quarters of an attempt, which has ten seconds.
    let enough = SECOND * 15 / 2;
    sender.push(enough, Health::Healthy);
    assert_eq!(sender.retry(), None);
    assert_eq!(sender.due(), Some(1));
    sender.push(enough - INSTANT, Health::Healthy);
    assert_eq!(sender.due(), None);
    assert_eq!(sender.retry(), Some(1));
}

#[tokio::test]
async fn so_many_calls_of_due_renewals_go_at_a_time() {
    for (batches, calls, size) in [(true, BATCHES, BATCH), (false, SINGLES, 1)] {
        let mut sender = Sender::new(batches);
        for _ in 0..=calls * size {
            sender.push(LEASE, Health::Healthy);
        }
        for _ in 0..calls {
            assert_eq!(sender.due(), Some(size));
        }
        assert_eq!(sender.due(), None);
        sender.queue.make_room(Kind::Due);
        assert_eq!(sender.due(), Some(1), "the rest");
        assert!(!sender.queue.waits());
    }
}

#[tokio::test]
async fn few_retries_go_at_a_time_while_the_store_is_silent() {
    let mut sender = Sender::new(true);
    for _ in 0..=SINGLES {
        sender.push(LEASE, Health::Isolated);
    }
    assert!(sender.queue.settled(Some(false)));
    assert!(sender.queue.settled(None), "it was not asked");
    assert_eq!(sender.retries(), [1; PROBES]);
    assert!(!sender.queue.settled(Some(true)));
    assert!(!sender.queue.settled(None), "it was not asked");
    assert_eq!(sender.retries(), [1; SINGLES - PROBES]);
    sender.queue.make_room(Kind::Retry);
    assert_eq!(sender.retries(), [1], "the rest");
}

#[tokio::test]
async fn very_many_retries_share_calls_unless_the_store_is_silent_or_takes_no_batches() {
    for (batches, silent, size) in [(true, false, 3), (true, true, 1), (false, false, 1)] {
        let mut sender = Sender::new(batches);
        for _ in 0..3 * APART {
            sender.push(LEASE, Health::Suspect);
        }
        sender.queue.settled(Some(!silent));
        assert_eq!(sender.retry(), Some(size), "{batches} {silent}");
    }
}

#[tokio::test]
async fn lease_that_failed_alone_goes_alone() {
    let mut sender = Sender::new(true);
    for _ in 0..3 * APART {
        sender.push(LEASE, Health::Suspect);
    }
    let order = [
        Health::Isolated,
        Health::Suspect,
        Health::Suspect,
        Health::Isolated,
        Health::Suspect,
    ];
    for (left, health) in (20..).zip(order) {
        sender.push(left * SECOND, health);
    }
    let [alone, pair, other, rest] = [1, 2, 1, 3].map(Some);
    for size in [alone, pair, other, rest] {
        assert_eq!(sender.retry(), size);
    }
}

#[tokio::test]
async fn queue_is_idle_when_nothing_waits_and_no_call_is_under_way() {
    for (kind, health) in [
        (Kind::Due, Health::Healthy),
        (Kind::Retry, Health::Isolated),
    ] {
        let mut sender = Sender::new(true);
        assert!(sender.queue.is_idle() && !sender.queue.waits());
        for (hangs, heard) in [(true, true), (false, false), (false, true)] {
            sender.push(LEASE, health);
            assert!(sender.queue.waits() && !sender.queue.is_idle());
            let sent = match kind {
                Kind::Due => sender.due(),
                Kind::Retry => sender.retry(),
            };
            assert_eq!(sent, Some(1));
            assert!(!sender.queue.waits() && !sender.queue.is_idle());
            // A call that hangs makes room first, and a call that has failed rests before it does.
            if hangs {
                sender.queue.make_room(kind);
                assert!(!sender.queue.is_idle(), "a call hangs");
            }
            sender.queue.settled(Some(heard));
            if !hangs {
                assert!(!sender.queue.is_idle(), "a call rests");
                sender.queue.make_room(kind);
            }
            assert!(sender.queue.is_idle());
        }
    }
}

#[tokio::test]
async fn term_leaves_the_queue_when_it_is_removed_or_its_lease_ends() {
    for health in [Health::Healthy, Health::Isolated] {
        let mut sender = Sender::new(true);
        let (first, second) = (sender.push(LEASE, health), sender.push(LEASE / 2, health));
        let now = sender.scene.now();
        assert_eq!(sender.queue.first_end(), Some(now + LEASE / 2));
        assert!(
            sender
                .queue
                .pop_ended(now + (LEASE / 2 - INSTANT))
                .is_none()
        );
        let ended = sender.queue.pop_ended(now + LEASE / 2).unwrap();
        assert!(Arc::ptr_eq(&ended.term, &second));
        assert_eq!(sender.queue.first_end(), Some(now + LEASE));
        let removed = sender.queue.remove(&first).unwrap();
        assert!(Arc::ptr_eq(&removed.term, &first));
        assert!(sender.queue.remove(&first).is_none());
        assert_eq!(sender.queue.first_end(), None);
        assert!(sender.queue.is_idle());
    }
}
