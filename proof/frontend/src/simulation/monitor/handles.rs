//! What the owners of leases do with them and are told of them (V5, V7, V9, I11).

use std::time::Duration;

use dlock_core::{End, EndCause, ErrorKind, FencingToken, ReleaseEnd};

use super::{
    Monitor, SLACK,
    model::{CallerId, Given, LeaseId, Watched},
};

impl Monitor {
    /// A caller has the lease in its hands. The lease as its handle says; `None` under `with`.
    pub(in super::super) fn delivered(
        &self,
        id: CallerId,
        token: FencingToken,
        watch: Option<Watched>,
    ) -> Option<LeaseId> {
        let mut state = self.state();
        state.note(|| format!("{id} has {token}"));
        state.figures.leases += 1;
        let now = state.now();
        let found = state
            .terms
            .iter_mut()
            .find(|(_, term)| term.caller == id && term.token == token && term.delivered.is_none());
        let Some((lease, term)) = found else {
            state.complain("I11", || {
                format!("{id} got a lease with {token}, never granted to it")
            });
            return None;
        };
        let lease = *lease;
        term.delivered = Some(now);
        // `with` watches by itself, and renews from the start.
        if watch.is_none() {
            let client = term.client;
            let stamp = state.stamp(client);
            if let Some(term) = state.terms.get_mut(&lease) {
                term.guarded = Some(stamp);
            }
        } else {
            term.watch = watch;
        }
        let holder = state.holder(lease);
        let term = &state.terms[&lease];
        if !term.valid(holder) {
            let deadline = term.deadline;
            state.complain("V9", || {
                format!("{id} got a lease that ended at {deadline:?}")
            });
        }
        Some(lease)
    }

    /// The lease renews itself from now on.
    pub(in super::super) fn guarded(&self, lease: LeaseId) {
        let mut state = self.state();
        let Some(client) = state.terms.get(&lease).map(|term| term.client) else {
            return;
        };
        let stamp = state.stamp(client);
        if let Some(term) = state.terms.get_mut(&lease) {
            term.guarded = Some(stamp);
        }
    }

    /// Somebody waits for the end of the lease.
    pub(in super::super) fn listens(&self, lease: LeaseId) {
        if let Some(term) = self.state().terms.get_mut(&lease) {
            term.listened = true;
        }
    }

    /// A caller that waited for the end of a lease without a guard was told.
    pub(in super::super) fn expired(&self, lease: LeaseId) {
        let mut state = self.state();
        let holder = state.holder(lease);
        let Some(term) = state.terms.get_mut(&lease) else {
            return;
        };
        term.told = true;
        if term.valid(holder) {
            let deadline = term.deadline;
            state.complain("V5", || {
                format!("{lease} is said to have ended, and ends at {deadline:?}")
            });
        }
    }

    /// A renewal by hand begins.
    pub(in super::super) fn renews_by_hand(&self, lease: LeaseId) {
        if let Some(term) = self.state().terms.get_mut(&lease) {
            term.by_hand += 1;
        }
    }

    /// A renewal by hand has ended: whether the lease was extended, if that is said.
    pub(in super::super) fn renewed_by_hand(&self, lease: LeaseId, lost: Option<&End>) {
        let mut state = self.state();
        let holder = state.holder(lease);
        let Some(term) = state.terms.get(&lease) else {
            return;
        };
        let valid = term.valid(holder);
        if valid == lost.is_some() {
            state.complain("V5", || {
                format!("a renewal of {lease} ends with {lost:?}, and the lease is valid: {valid}")
            });
        }
    }

    /// The handle is about to be released or dropped (V7).
    pub(in super::super) fn ends(&self, lease: LeaseId) {
        let mut state = self.state();
        state.note(|| format!("{lease} ends"));
        state.release_begins(lease);
    }

    /// `release` has answered.
    pub(in super::super) fn released(
        &self,
        lease: LeaseId,
        answer: &Result<ReleaseEnd, ErrorKind>,
    ) {
        let mut state = self.state();
        state.note(|| format!("{lease} released: {answer:?}"));
        let Some(term) = state.terms.get(&lease) else {
            return;
        };
        let (told, fatal) = (term.release_answer, term.release_fatal);
        let early = !term.let_go_by(state.clients[term.client].machine.holder());
        let right = match answer {
            Ok(ReleaseEnd::Released) => {
                term.lingers.is_some() || matches!(told, Some(Given::Back | Given::BackOrUnknown))
            }
            Ok(ReleaseEnd::NotHeld(_)) => told == Some(Given::Taken),
            Ok(ReleaseEnd::Unconfirmed) => {
                matches!(told, Some(Given::Unknown | Given::BackOrUnknown))
                    || told.is_none() && !fatal && !early
            }
            Err(kind) => fatal && *kind == ErrorKind::Fatal,
        };
        if !right {
            state.complain("V7", || {
                format!(
                    "the release of {lease} ends with {answer:?}; the store said {told:?}, fatal: \
                     {fatal}, before it had to let go: {early}"
                )
            });
        }
    }

    /// A watcher was told of the end of the lease.
    pub(in super::super) fn told(&self, lease: LeaseId, loss: &End) {
        let mut state = self.state();
        state.note(|| format!("{lease} lost: {:?}", loss.cause));
        state.figures.losses += u64::from(loss.is_loss());
        let holder = state.holder(lease);
        let Some(term) = state.terms.get_mut(&lease) else {
            return;
        };
        term.told = true;
        let stop = term.settings.max_hold.map(|most| term.since + most);
        let right = match &loss.cause {
            EndCause::Released => term.release_began.is_some() && !term.by_ticket,
            EndCause::HandedOver => term.by_ticket,
            EndCause::Refused { .. } => term.refused.is_some(),
            EndCause::HeldTooLong => {
                holder >= term.deadline && stop.is_some_and(|stop| stop <= holder)
            }
            _ => holder >= term.deadline,
        };
        if !right || loss.token != term.token {
            let (deadline, cause) = (term.deadline, &loss.cause);
            state.complain("V5", || {
                format!("{lease} is said to have ended by {cause:?}; its deadline is {deadline:?}")
            });
        }
    }

    /// The work under `with` starts or is polled, or is gone. Whether the lease is valid.
    pub(in super::super) fn works(&self, lease: LeaseId, alive: bool) -> bool {
        let mut state = self.state();
        let holder = state.holder(lease);
        let Some(client) = state.terms.get(&lease).map(|term| term.client) else {
            return false;
        };
        let now = state.stamp(client);
        let Some(term) = state.terms.get_mut(&lease) else {
            return false;
        };
        term.work_alive = alive;
        if !alive {
            term.work_gone.get_or_insert(now);
        }
        let valid = term.valid(holder);
        if !alive {
            // What follows in the same poll is the release.
            state.release_begins(lease);
        }
        valid
    }

    /// `with` has returned. `finished`: whether the work had ended, and in time. `answer`: `None` if
    /// the work's panic went on.
    pub(in super::super) fn with_ended(
        &self,
        lease: LeaseId,
        finished: Option<bool>,
        answer: Option<&Result<(), End>>,
    ) {
        let mut state = self.state();
        let Some(term) = state.terms.get(&lease) else {
            return;
        };
        let (client, caller) = (term.client, term.caller);
        let right = match (answer, finished) {
            (Some(Ok(())), Some(in_time)) => in_time,
            (Some(Err(loss)), Some(in_time)) => !in_time && loss.work_finished,
            (Some(Err(loss)), None) => !loss.work_finished,
            (Some(Ok(())), None) => false,
            (None, _) => true,
        };
        // A sixth of the lease, and no longer than was left of it when the work had ended.
        let left = term
            .work_gone
            .map(|gone| term.deadline.saturating_sub(gone.holder));
        let limit = (term.settings.duration / 6).min(left.unwrap_or(Duration::MAX));
        let settled = term.release_answer.is_some()
            || term.release_fatal
            || term.lingers.is_some()
            || term.refused.is_some()
            || term.let_go_by(state.clients[client].machine.holder());
        let gone = term.work_gone;
        if !right {
            state.complain("V9", || {
                format!("`with` says {answer:?}, and its work ended in time: {finished:?}")
            });
        }
        let now = state.stamp(client);
        if let Some(gone) = gone {
            let took = now.contender.saturating_sub(gone.contender);
            let looked_away = state.callers[caller].away;
            let polled = looked_away.is_none_or(|away| away < gone.at);
            if took > limit + SLACK && polled && state.undisturbed_since(client, gone.at) {
                state.complain("V7", || format!("`with` kept its result back for {took:?}"));
            }
            if !settled && took + SLACK < limit {
                state.complain("V7", || {
                    format!("`with` of {lease} ends before its release")
                });
            }
        }
        state.release_begins(lease);
    }
}
