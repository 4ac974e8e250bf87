//! A store that answers nobody (W5, V6): from then on a client's calls go in turns, and callers and
//! renewals that wait for theirs come later than their own pauses would have it. How much later is
//! bounded: the client goes on asking, and its first answer ends the waiting.

use std::time::Duration;

use dlock_testkit::faults::{Op, Request};

use super::{
    SLACK, State,
    model::{Call, Caller, CallerId, ClientState, Term},
};

/// So many calls without an answer are no outage yet.
const HICCUPS: u32 = 3;

/// Between two turns, unless an attempt takes less.
const LEAST_GAP: Duration = Duration::from_millis(80);

/// The longest that a client asks nothing while somebody waits for a turn: two gaps, since the caller
/// whose turn it is may have no use for it any more.
const LONGEST_GAP: Duration = Duration::from_millis(240);

/// What a client has heard of its store lately, on its contender's clock.
#[derive(Default)]
pub(super) struct Outage {
    unanswered: u32,
    /// The unanswered calls that the client has counted for certain: no items of a batch, and no calls of
    /// tasks that were cut off.
    failed: u32,
    /// When it began for certain, when the last one ended, and when anything was last asked, or could be
    /// again after its machine had stood still.
    began: Duration,
    ended: Option<Duration>,
    pub(super) asked: Duration,
    /// When a caller last asked that had to wait for a turn, on the holder's clock: turns are its.
    turn: Option<Duration>,
}

impl State {
    /// A call leaves a client: one that needs a turn comes no sooner than that.
    pub(super) fn outage_called(&mut self, client: usize, request: &Request) {
        if let Request::Watch = request {
            return;
        }
        let stamp = self.stamp(client);
        let now = stamp.contender;
        let outage = &mut self.clients[client].outage;
        outage.asked = now;
        let Request::Acquire(request) = request else {
            return;
        };
        let on = outage.failed > HICCUPS;
        // Callers that spread out after one outage may go in the next.
        let apart = (request.duration / 60).min(Duration::from_millis(500)) + SLACK;
        if !on || now < outage.began + apart || request.prev.is_some() {
            return;
        }
        let gap = outage.turn.map(|turn| stamp.holder.saturating_sub(turn));
        outage.turn = Some(stamp.holder);
        let least = LEAST_GAP.min(request.duration / 6);
        if let Some(gap) = gap.filter(|gap| *gap + Duration::from_micros(1) < least) {
            self.complain("W5", || {
                format!("c{client} asks a store that is down again after {gap:?}: {request:?}")
            });
        }
    }

    /// A call of a client has ended.
    pub(super) fn outage_heard(&mut self, call: &Call, answered: bool, failed: bool) {
        let (client, op) = (call.client, call.op());
        let now = self.stamp(client).contender;
        let outage = &mut self.clients[client].outage;
        if op == Op::Watch {
        } else if answered {
            if outage.unanswered > HICCUPS {
                outage.ended = Some(now);
            }
            (outage.unanswered, outage.failed) = (0, 0);
        } else {
            outage.unanswered += 1;
            outage.failed += u32::from(failed && op != Op::Renew);
            if outage.failed <= HICCUPS + 1 {
                outage.began = now;
                outage.turn = None;
            }
        }
    }

    /// Its try may have been given up for want of a turn (G4); the release waits for a turn as well.
    pub(super) fn had_no_turn(&self, caller: &Caller) -> bool {
        let client = &self.clients[caller.client];
        let holder = client.machine.holder();
        caller.open_try.as_ref().is_some_and(|open| {
            let age = holder.saturating_sub(open.sent.holder) + SLACK;
            client.was_out_since(open.sent.contender) && age >= caller.settings.duration / 3
        })
    }

    /// A caller may wait for its turn.
    pub(super) fn may_be_held(&self, id: CallerId) -> bool {
        let caller = &self.callers[id];
        self.clients[caller.client].may_wait_for_turn(caller.settings.failure_pause())
    }
}

impl ClientState {
    /// There was an outage at some time since then, on the contender's clock.
    pub(super) fn was_out_since(&self, since: Duration) -> bool {
        let Outage {
            unanswered, ended, ..
        } = self.outage;
        unanswered > HICCUPS || ended.is_some_and(|ended| ended >= since)
    }

    /// A late call may still wait for its turn, as long as the client keeps asking; or its caller has just heard
    /// of the outage's end, and spreads out from others by up to a pause. Its patience may end meanwhile:
    /// then the pause of a failure follows.
    pub(super) fn may_wait_for_turn(&self, pause: Duration) -> bool {
        let outage = &self.outage;
        let now = self.machine.contender();
        if outage.unanswered > HICCUPS {
            now <= outage.asked + LONGEST_GAP + SLACK
        } else {
            outage
                .ended
                .is_some_and(|ended| now <= ended + pause * 5 / 2 + 2 * SLACK)
        }
    }
}

impl Term {
    /// V6: the last instant, on the holder's clock, at which a renewal goes that is repeated and was
    /// due at this one, whether it has a turn or not.
    pub(super) fn last_chance(&self, due: Duration) -> Duration {
        let (left, attempt) = (
            self.deadline.saturating_sub(due),
            self.settings.duration / 6,
        );
        due + left.checked_sub(attempt).unwrap_or(left / 2)
    }
}
