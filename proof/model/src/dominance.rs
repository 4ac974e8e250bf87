//! Steps that the search omits, because another step at the same time allows everything that they
//! allow, and more. The omitted steps, and those that replace them:
//!
//! - An answer to a try other than `Acquired`: the client gives up. The release that it then sends
//!   may never arrive.
//! - A grant that comes after its deadline: the client gives up when the deadline passes.
//! - `Lost`, and a release long after the end of a lease: the holder releases at once. Its release
//!   may be arbitrarily late, and before it learned of the loss it believed for longer.
//! - A crash: the process gives up or releases, none of those messages arrives, and it makes no claims.
//! - A repeated acquire: the network keeps a copy of the first one.
//! - A read of the record later than at once: an older observation allows more, and no client
//!   has to make the claims that it may make. This omits a claim of a version that is gone already and
//!   comes back as an orphan (G2); the searches with `looks_at_once` off include it.
//! - A request that arrives and changes nothing, neither the record nor the answer that its client will hear:
//!   it stays in flight, and may still arrive when it changes something.
//! - A try without a claim where one may be made: it is refused where the other takes, and a request
//!   that is refused had better stay in flight.
//! - A ticket without a release: the release may never arrive.
//!
//! All of these are steps of the full model too, so the search finds no violation that does not exist.

use crate::{
    action::Action,
    event::Log,
    state::{Phase, Row, State, Term},
    step::Step,
};

impl<L: Log> Step<'_, L> {
    /// Takes at once every step that gains nothing by waiting.
    pub(crate) fn dominate(&mut self) {
        for index in 0..self.config.terms() {
            let late = self.state.terms[index].clock >= self.config.belief(index);
            match self.state.terms[index].phase {
                Phase::Pending if late => self.over(index, Phase::Over, true),
                Phase::Ended | Phase::Refused => self.over(index, Phase::Over, true),
                Phase::Handed if self.state.terms[index].clock == 0 => self.release(index),
                _ => {}
            }
        }
        if !self.config.looks_at_once() {
            return;
        }
        let record = self.state.record;
        for client in 0..usize::from(self.config.clients) {
            if record.row == Row::Held {
                self.observe(client, record.version, record.duration, 0);
            } else {
                self.forget(client);
            }
        }
    }
}

/// A request has arrived, and the state is as before except that it is no longer in flight.
pub(crate) fn in_vain(action: Action, before: &State, after: &State) -> bool {
    let same = |term: u8| {
        let index = usize::from(term);
        let (before, after) = (&before.terms[index], &after.terms[index]);
        let renewed = |term: &Term| term.attempts.map(|attempt| attempt.renewed);
        before.replies == after.replies && renewed(before) == renewed(after)
    };
    let quiet = match action {
        Action::Acquire { term, .. }
        | Action::Renewal { term, .. }
        | Action::Released { term, .. } => same(term),
        Action::Revoked { .. } => true,
        _ => false,
    };
    quiet && before.record == after.record && before.violated == after.violated
}
