//! S1: a term has sixteen tokens, and more where the terms before it used theirs up in an instant.

use std::time::Duration;

use dlock_testkit::{Bench, faults::Op};

use super::{
    handing::queued,
    harness::{Hand, Harness, lock, ok, rounds, settle, soon},
};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

pub(crate) async fn terms_of_short_leases_grow(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let line = Line::new(&harness, &hand, "");
        let terms = line.of(369, |_| Duration::ZERO).await;
        assert_eq!(terms, [16, 32, 64, 128, 128, 1]);
    })
    .await;
}

pub(crate) async fn terms_of_longer_leases_have_sixteen(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let line = Line::new(&harness, &hand, "long");
        let terms = line.of(33, |_| 4 * MILLISECOND).await;
        assert_eq!(terms, [16, 16, 1]);

        // And sixteen again once the leases become long, or others ask.
        let line = Line::new(&harness, &hand, "longer");
        let become_longer = |before| {
            if before < 16 {
                Duration::ZERO
            } else {
                2 * MILLISECOND
            }
        };
        assert_eq!(line.of(65, become_longer).await, [16, 32, 16, 1]);

        let line = Line::new(&harness, &hand, "asked");
        let line = Line {
            asked: Some(20),
            ..line
        };
        let terms = line.of(38, |_| Duration::ZERO).await;
        assert_eq!(terms, [16, 5, 16, 1]);
    })
    .await;
}

/// The callers that wait in line for one lock.
struct Line<'a> {
    harness: &'a Harness,
    hand: &'a Hand,
    label: &'static str,
    /// How many leases come before the one that learns that the lock was asked for (B3).
    asked: Option<usize>,
}

impl<'a> Line<'a> {
    fn new(harness: &'a Harness, hand: &'a Hand, label: &'static str) -> Self {
        Self {
            harness,
            hand,
            label,
            asked: None,
        }
    }

    /// How many leases each term has, when this many follow one another. `takes` returns how long each takes, given the
    /// number of those before it.
    async fn of(&self, leases: usize, takes: fn(usize) -> Duration) -> Vec<usize> {
        let Self { harness, hand, .. } = self;
        let lock = lock!(harness, self.label, poll_every = SECOND);
        let (subject, other) = harness.taken_by_another(self.label).await;
        let asked = harness.acquires().len();
        let line: Vec<_> = (0..leases).map(|_| queued(&lock)).collect();
        harness.sent(Op::Acquire, asked + 1).await;
        settle().await;
        subject.releases(&other, None).await;
        let mut terms = Vec::new();
        for (before, waiter) in line.into_iter().enumerate() {
            settle().await;
            let mut lease = ok(hand.passes_until_within(waiter, 2 * SECOND).await);
            hand.advance(takes(before)).await;
            if self.asked == Some(before) {
                harness.interceptor.ask();
                ok(soon("the renewal", lease.renew()).await);
            }
            terms.push(lease.uuid());
            ok(soon("the release", lease.release()).await);
        }
        terms.chunk_by(|a, b| a == b).map(<[_]>::len).collect()
    }
}
