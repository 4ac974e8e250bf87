//! The acts of the owners of leases, and the information that they get (V5, V7, V9, I6 to I8, I11).

use std::time::Duration;

use dlock_core::{End, EndCause, Error, ErrorKind, FencingToken, ReleaseEnd};

use super::{
    Monitor, State,
    model::{CallerId, LeaseId, Probe, Watched},
};

impl Monitor {
    /// A caller received the lease. `watch` looks at the lease through its handle; `None` under `with`.
    pub(in super::super) fn delivered(
        &self,
        id: CallerId,
        token: FencingToken,
        watch: Option<Watched>,
    ) -> Option<LeaseId> {
        let mut state = self.state();
        state.note(|| format!("{id} has {token}"));
        state.figures.leases += 1;
        let stamp = state.stamp(state.callers[id].client);
        let mut terms = state.terms.iter_mut();
        let found =
            terms.find(|(_, term)| term.caller == id && term.token == token && !term.delivered);
        let Some((lease, term)) = found else {
            state.complain("I11", || {
                format!("{id} got a lease with {token}, never granted to it")
            });
            return None;
        };
        let lease = *lease;
        term.delivered = true;
        term.watch = watch;
        let (valid, deadline) = (term.valid(stamp.holder), term.deadline);
        if !valid {
            state.complain("V9", || {
                format!("{id} got a lease that ended at {deadline:?}")
            });
        }
        Some(lease)
    }

    /// A watcher was notified of the end of the lease.
    pub(in super::super) fn told(&self, lease: LeaseId, loss: &End) {
        let mut state = self.state();
        state.note(|| format!("{lease} lost: {:?}", loss.cause));
        state.figures.losses += u64::from(loss.is_loss());
        let holder = state.holder(lease);
        let Some(term) = state.terms.get(&lease) else {
            return;
        };
        let right = match &loss.cause {
            EndCause::Released => term.release.began.is_some() && !term.release.by_ticket,
            EndCause::HandedOver => term.release.by_ticket,
            EndCause::Refused { .. } => term.refused.is_some(),
            _ => holder >= term.deadline,
        };
        if !right || loss.token != term.token {
            let (deadline, cause) = (term.deadline, &loss.cause);
            state.complain("V5", || {
                format!("{lease} is said to have ended by {cause:?}; its deadline is {deadline:?}")
            });
        }
    }

    /// The handle is about to be released or dropped (V7).
    pub(in super::super) fn ends(&self, lease: LeaseId) {
        let mut state = self.state();
        state.note(|| format!("{lease} ends"));
        state.release_begins(lease);
    }

    /// The handle was handed over (H7), or was dropped because the lease had ended.
    pub(in super::super) fn handed_over(&self, lease: LeaseId, refused: Option<&Error>) {
        let mut state = self.state();
        state.note(|| format!("{lease} handed over: {refused:?}"));
        state.release_begins(lease);
        if refused.is_none() {
            state.figures.tickets += 1;
            if let Some(term) = state.terms.get_mut(&lease) {
                term.release.by_ticket = true;
            }
        }
    }

    /// `release` has answered.
    pub(in super::super) fn released(
        &self,
        lease: LeaseId,
        answer: &Result<ReleaseEnd, ErrorKind>,
    ) {
        let mut state = self.state();
        state.note(|| format!("{lease} released: {answer:?}"));
        let Some(release) = state.terms.get(&lease).map(|term| term.release) else {
            return;
        };
        let wrong = match answer {
            Ok(ReleaseEnd::NotHeld(_)) => !release.not_held,
            Ok(ReleaseEnd::Unconfirmed) => release.released,
            Err(_) => !release.fatal,
            _ => false,
        };
        if wrong {
            state.complain("V7", || {
                format!("the release of {lease} ends with {answer:?}; {release:?}")
            });
        }
    }

    /// The work under `with` starts or is polled, or is gone. Returns whether the lease is valid.
    pub(in super::super) fn works(&self, lease: LeaseId, alive: bool) -> bool {
        let mut state = self.state();
        let holder = state.holder(lease);
        let Some(term) = state.terms.get_mut(&lease) else {
            return false;
        };
        term.work_alive = alive;
        let valid = term.valid(holder);
        if !alive {
            // The release follows in the same poll.
            state.release_begins(lease);
        }
        valid
    }

    /// `with` has returned. `finished`: whether the work had ended, and in time. `answer`: `None` if the work's panic
    /// was passed on.
    pub(in super::super) fn with_ended(
        &self,
        lease: LeaseId,
        finished: Option<bool>,
        answer: Option<&Result<(), End>>,
    ) {
        let mut state = self.state();
        let right = match (answer, finished) {
            (Some(Ok(())), Some(in_time)) => in_time,
            (Some(Err(loss)), Some(in_time)) => !in_time && loss.work_finished,
            (Some(Err(loss)), None) => !loss.work_finished,
            (Some(Ok(())), None) => false,
            (None, _) => true,
        };
        if !right {
            state.complain("V9", || {
                format!("`with` says {answer:?}, and its work ended in time: {finished:?}")
            });
        }
        state.release_begins(lease);
    }
}

impl State {
    /// Compares a handle with the requests and answers of its lease.
    pub(super) fn compare(&mut self, lease: LeaseId, probe: Probe) {
        let holder = self.holder(lease);
        let Some(term) = self.terms.get(&lease) else {
            return;
        };
        let valid = term.valid(holder);
        let left = if valid {
            term.deadline.saturating_sub(holder)
        } else {
            Duration::ZERO
        };
        let (deadline, refused) = (term.deadline, term.refused.is_some());
        if probe.valid && !valid {
            let rule = if refused { "V5" } else { "I8" };
            self.complain(rule, || {
                format!("{lease} is believed at {holder:?}, and ended at {deadline:?}, refused: {refused}")
            });
        } else if !probe.valid && valid {
            self.complain("V5", || {
                format!("{lease} is not believed at {holder:?}, and ends at {deadline:?}")
            });
        } else if probe.remaining != left {
            let rule = if probe.remaining > left { "I6" } else { "V4" };
            let said = probe.remaining;
            self.complain(rule, || {
                format!("{lease} has {left:?} left and says {said:?}")
            });
        }
    }
}
