//! Watches a holder from outside: its belief at every instant, and when it learns of the end.

use std::{pin::pin, time::Duration};

use dlock_core::{
    End, EndCause, Guard, Name, Provider,
    provider::{AcquireOutcome, RenewOutcome},
};
use tokio::time::{Instant, interval};

use super::wiring::{Wire, believed_at_least, ok, store_clock};
use crate::{
    faults::{Op, Outcome},
    slow::in_time,
};

/// How late the holder may be notified.
const TOLD_WITHIN: Duration = Duration::from_millis(50);
/// How far apart two readings of the clock may be.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// How a lease ended, as its holder saw it.
pub(super) struct Noticed {
    /// The last `valid_until` that the holder believed in.
    pub(super) deadline: Instant,
    pub(super) loss: End,
}

/// Watches until the lease is lost.
pub(super) async fn watch_holder(guard: &Guard, lease: Duration) -> Noticed {
    let mut lost = pin!(guard.ended());
    let mut tick = interval(Duration::from_millis(2));
    let mut deadline = believed_at_least(|| guard.remaining());
    in_time(guard.is_valid(), "the first look at a holder");
    loop {
        tokio::select! {
            biased;
            loss = &mut lost => {
                let at = Instant::now();
                assert!(!guard.is_valid(), "notified of a loss that did not happen (V5)");
                assert!(guard.remaining().is_zero());
                // The store's refusal ends it early (R3).
                if matches!(loss.cause, EndCause::Expired { .. }) {
                    on_time(at, deadline);
                }
                return Noticed { deadline, loss };
            }
            _ = tick.tick() => {
                let (before, left, after) = (Instant::now(), guard.remaining(), Instant::now());
                if !left.is_zero() {
                    // A renewal adds a third of the lease.
                    assert!(after + left + lease / 10 >= deadline, "valid_until moved back (I7)");
                    deadline = deadline.max(before + left);
                }
            }
        }
    }
}

/// The holder is notified at the deadline, neither late nor early.
pub(super) fn on_time(at: Instant, deadline: Instant) {
    let late = at.saturating_duration_since(deadline);
    in_time(
        late <= TOLD_WITHIN,
        format_args!("notified {late:?} after the end (I8)"),
    );
    let early = deadline.saturating_duration_since(at);
    assert!(early <= TOLD_WITHIN, "notified {early:?} before the end");
}

/// The belief rests on a try or renewal that was answered, and on the instant at which that was sent.
pub(super) fn belief_is_founded(wire: &Wire, deadline: Instant, lease: Duration) {
    let calls = wire.provider.calls();
    let answered = calls.iter().filter(|call| match &call.answer {
        Some(Ok(Outcome::Acquire(outcome))) => matches!(outcome, AcquireOutcome::Acquired(_)),
        Some(Ok(Outcome::Renew(outcome))) => matches!(outcome, RenewOutcome::Renewed { .. }),
        _ => false,
    });
    let Some(sent) = answered.map(|call| call.began).max() else {
        panic!("nothing was ever answered")
    };
    let latest = sent + lease.mul_f64(0.8) + BETWEEN_LOOKS;
    assert!(
        deadline <= latest,
        "believes {:?} too long (I6)",
        deadline - latest
    );
}

/// Fails: a lease was lost although its renewals were answered in time, unless the machine was slow.
pub(super) fn should_be_kept(guard: &Guard, told: &Noticed) -> ! {
    let loss = &told.loss;
    let ended_by_time = match &loss.cause {
        EndCause::Expired { .. } => true,
        EndCause::Refused { record, .. } => {
            record.as_ref().is_some_and(|own| own.uuid == guard.uuid())
        }
        _ => false,
    };
    in_time(!ended_by_time, format_args!("the renewals: {loss:?}"));
    panic!("lost: {loss:?}")
}

/// The store still keeps the name for its holder, which has just been notified.
pub(super) async fn store_still_keeps_it(
    direct: &dyn Provider,
    guard: &Guard,
    name: &Name,
    kept_until: Instant,
) {
    let record = ok(direct.read(name).await);
    in_time(Instant::now() < kept_until, "a look into the store");
    let Some(record) = record else {
        panic!("the record is gone")
    };
    assert_eq!(record.uuid, guard.uuid(), "given away before the end (I2)");
    assert!(!record.released, "released, but not by its holder");
    if store_clock(direct) {
        let left = record.remaining.unwrap_or_default();
        assert!(!left.is_zero(), "the store would give it away already (I2)");
    }
}

/// When the last call of this operation began.
pub(super) fn last_sent(wire: &Wire, op: Op) -> Instant {
    let calls = wire.provider.calls();
    let sent = calls.iter().filter(|call| call.op == op);
    match sent.map(|call| call.began).max() {
        Some(sent) => sent,
        None => panic!("no {op:?} was sent"),
    }
}
