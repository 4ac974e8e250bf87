//! V4 to V8 with many leases at once: which renewals travel together, and that no lease suffers for another. Where a
//! store takes no batches, every renewal travels alone, and the same must hold.

use std::time::Duration;

use dlock_core::{EndCause, Guard, Provider, State, provider::Release};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};

use super::harness::{Harness, Round, eventually, lock, ok, rounds, settle, soon};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// This many guards, all acquired at one instant of a clock that moves by hand.
async fn hold(harness: &Harness, label: &str, count: usize) -> Vec<Guard> {
    let mut guards = Vec::with_capacity(count);
    for number in 0..count {
        guards.push(ok(lock!(harness, format!("{label}{number}")).hold().await));
    }
    guards
}

/// The store takes batches.
fn together(round: &Round) -> bool {
    round.bench().capabilities().batch
}

/// The next renewals of this many leases, all due at one time, meet this fault.
fn strike(harness: &Harness, together: bool, count: usize, fault: Fault) {
    if together {
        harness.store.next(Op::RenewMany, fault);
    } else {
        (0..count).for_each(|_| harness.store.next(Op::Renew, fault));
    }
}

/// How often a lock's renewal was sent.
fn attempts(harness: &Harness, label: &str) -> usize {
    let name = harness.name(label);
    let renewals = harness.renewals();
    renewals.iter().filter(|sent| sent.name == name).count()
}

async fn extended(guards: &[Guard], left: Duration) {
    for guard in guards {
        eventually("the success", || guard.remaining() >= left).await;
        assert_eq!(guard.remaining(), left);
        assert!(matches!(guard.state(), State::Valid));
    }
}

pub(crate) async fn leases_due_together_travel_together(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let guards = hold(&harness, "", 20).await;
        for trip in 1..=3 {
            hand.advance(21 * SECOND).await;
            harness.sent(Op::Renew, trip * 20).await;
            // From the sending of the request, not from the instant at which it was due.
            extended(&guards, 48 * SECOND).await;
            let trips = if together(&round) { trip } else { 0 };
            assert_eq!(harness.store.count(Op::RenewMany), trips);
        }
        for (number, guard) in guards.iter().enumerate() {
            let record = harness
                .subject()
                .await
                .record(&harness.name(number.to_string()))
                .await;
            assert_eq!((record.uuid, record.renewals), (guard.uuid(), 3));
        }
    })
    .await;
}

pub(crate) async fn refused_renewal_of_a_batch_ends_one_lease(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let mut guards = hold(&harness, "", 6).await;
        let taken = Release::new(harness.name("1"), guards[1].uuid(), None);
        ok(harness.interceptor.release(&taken).await);
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 6).await;
        let refused = guards.remove(1);
        let loss = soon("the loss", refused.ended()).await;
        assert!(matches!(loss.cause, EndCause::Refused { .. }), "{loss:?}");
        extended(&guards, 48 * SECOND).await;
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 11).await;
        settle().await;
        assert_eq!(attempts(&harness, "1"), 1, "renewed when it was lost");
        extended(&guards, 48 * SECOND).await;
    })
    .await;
}

pub(crate) async fn failed_renewal_of_a_batch_leaves_the_others(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let guards = hold(&harness, "", 5).await;
        harness.store.next(Op::Renew, Fault::UNKNOWN_BEFORE);
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 5).await;
        let renewed = || {
            let renewed = guards
                .iter()
                .filter(|guard| guard.remaining() == 48 * SECOND);
            renewed.count()
        };
        eventually("the others' success", || renewed() == 4).await;
        assert!(guards.iter().all(|guard| guard.is_valid()));
        // One more attempt, for the one that failed.
        hand.advance(SECOND).await;
        harness.sent(Op::Renew, 6).await;
        eventually("its success", || renewed() == 1).await;
        settle().await;
        assert_eq!(harness.renewals().len(), 6);
    })
    .await;
}

pub(crate) async fn unanswered_batch_is_retried_one_by_one(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        // Few enough not to count as an outage.
        let guards = hold(&harness, "", 3).await;
        strike(&harness, together(&round), 3, Fault::LoseReply);
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 3).await;
        hand.advance(10 * SECOND - MILLISECOND).await;
        assert_eq!(harness.renewals().len(), 3, "given up too early");
        assert!(guards.iter().all(|guard| guard.is_valid()));
        // A sixth of the lease has passed; then come short pauses.
        hand.advance(MILLISECOND).await;
        hand.advance(SECOND).await;
        harness.sent(Op::Renew, 6).await;
        extended(&guards, 48 * SECOND).await;
        let trips = usize::from(together(&round));
        assert_eq!(
            harness.store.count(Op::RenewMany),
            trips,
            "retried together"
        );
        // And then together again.
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 9).await;
        extended(&guards, 48 * SECOND).await;
        assert_eq!(harness.store.count(Op::RenewMany), 2 * trips);
    })
    .await;
}

pub(crate) async fn hung_batch_delays_no_other(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let early = hold(&harness, "early", 3).await;
        hand.advance(SECOND).await;
        let late = hold(&harness, "late", 3).await;
        strike(&harness, together(&round), 3, Fault::LoseRequest);
        hand.advance(19 * SECOND).await;
        harness.sent(Op::Renew, 3).await;
        hand.advance(SECOND).await;
        harness.sent(Op::Renew, 6).await;
        extended(&late, 48 * SECOND).await;
        assert!(early.iter().all(|guard| guard.remaining() == 27 * SECOND));
    })
    .await;
}

pub(crate) async fn dead_shard_delays_only_its_own(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.interceptor.shards();
        let (east, west) = (hold(&harness, "a", 3).await, hold(&harness, "b", 3).await);
        harness.interceptor.lose_shard_of(&harness.name("a0"));
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 6).await;
        extended(&west, 48 * SECOND).await;
        assert!(east.iter().all(|guard| guard.remaining() == 28 * SECOND));
    })
    .await;
}

pub(crate) async fn short_lease_cuts_no_long_ones_attempt(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut harness, hand) = round.by_hand().await;
        let long = ok(lock!(harness, "long").hold().await);
        hand.advance(16 * SECOND).await;
        harness.lease = 12 * SECOND;
        let short = ok(lock!(harness, "short").hold().await);
        harness.store.always(Op::Renew, Fault::LoseRequest);
        hand.advance(4 * SECOND).await;
        harness.sent(Op::Renew, 2).await;
        // A sixth of the short lease has passed, and a pause.
        hand.advance(2 * SECOND).await;
        hand.advance(SECOND).await;
        eventually("the short one's next", || attempts(&harness, "short") == 2).await;
        settle().await;
        assert_eq!(attempts(&harness, "long"), 1, "cut short");
        assert!(long.is_valid() && short.is_valid());
    })
    .await;
}

pub(crate) async fn batch_gets_as_long_as_its_shortest_lease_allows(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut harness, hand) = round.by_hand().await;
        let every = 20 * SECOND;
        harness.lease = 62 * SECOND;
        let long = ok(lock!(harness, "long", renew_every = every).hold().await);
        harness.lease = 60 * SECOND;
        let short = ok(lock!(harness, "short", renew_every = every).hold().await);
        strike(&harness, together(&round), 2, Fault::LoseRequest);
        hand.advance(every).await;
        harness.sent(Op::Renew, 2).await;
        hand.advance(10 * SECOND).await;
        hand.advance(SECOND).await;
        eventually("the short one's next", || attempts(&harness, "short") == 2).await;
        hand.advance(SECOND).await;
        eventually("the long one's next", || attempts(&harness, "long") == 2).await;
        extended(&[short], 47 * SECOND).await;
        assert!(long.is_valid());
    })
    .await;
}

pub(crate) async fn answers_of_another_number_are_none(bench: Bench) {
    rounds(bench, |round| async move {
        for (label, more) in [("fewer", false), ("more", true)] {
            let (harness, hand) = round.by_hand().await;
            harness.interceptor.miscount(more);
            let guards = hold(&harness, label, 3).await;
            hand.advance(20 * SECOND).await;
            harness.sent(Op::Renew, 3).await;
            settle().await;
            if together(&round) {
                let left = guards.iter().map(|guard| guard.remaining());
                assert!(left.clone().all(|left| left == 28 * SECOND), "{left:?}");
                hand.advance(SECOND).await;
                harness.sent(Op::Renew, 6).await;
            }
            extended(&guards, 48 * SECOND).await;
        }
    })
    .await;
}

pub(crate) async fn late_answer_of_a_batch_counts_for_leases_still_valid(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        // The answer comes at the deadline of one. Where each renewal is sent alone, the other attempt may still be in
        // flight at that instant, and needs time to spare.
        let (op, every) = if together(&round) {
            (Op::RenewMany, 20 * SECOND)
        } else {
            (Op::Renew, 24 * SECOND)
        };
        let brief = lock!(harness, "brief", margin = 0.5, renew_every = every);
        let brief = ok(brief.hold().await);
        let other = ok(lock!(harness, "other", renew_every = every).hold().await);
        harness
            .interceptor
            .after(op, hand.jumping(30 * SECOND - every));
        hand.advance(every).await;
        let loss = soon("the loss", brief.ended()).await;
        assert!(matches!(loss.cause, EndCause::Expired { .. }), "{loss:?}");
        let left = every + 18 * SECOND;
        eventually("the success", || other.remaining() >= left).await;
    })
    .await;
}

pub(crate) async fn lease_released_during_a_batch_is_renewed_no_more(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let mut guards = hold(&harness, "", 3).await;
        strike(&harness, together(&round), 3, Fault::LoseReply);
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 3).await;
        ok(guards.remove(0).release().await);
        hand.advance(10 * SECOND).await;
        hand.advance(SECOND).await;
        harness.sent(Op::Renew, 5).await;
        extended(&guards, 48 * SECOND).await;
        drop(guards.remove(0));
        hand.advance(20 * SECOND).await;
        harness.sent(Op::Renew, 6).await;
        settle().await;
        let sent = ["0", "1", "2"].map(|label| attempts(&harness, label));
        assert_eq!(sent, [1, 2, 3], "renewed after its release began");
    })
    .await;
}

pub(crate) async fn released_leases_leave_nothing_behind(bench: Bench) {
    rounds(bench, |round| async move {
        let (mut harness, _hand) = round.by_hand().await;
        let before = harness.store.clones();
        // The clock stands still: no retry would ever be due.
        let (clock, _stands) = dlock_core::Clock::manual();
        harness.another_client(clock);
        for guard in hold(&harness, "", 5).await {
            ok(guard.release().await);
        }
        drop(hold(&harness, "dropped", 5).await);
        harness.client.close().await;
        let (clock, _stands) = dlock_core::Clock::manual();
        harness.another_client(clock);
        eventually("the end of the first client", || {
            harness.store.clones() <= before
        })
        .await;
    })
    .await;
}
