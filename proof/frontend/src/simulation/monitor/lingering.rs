//! After a release a term may linger with its client: for those in line (S1), and with nobody in line for the next caller
//! whose lock is alike (S7).

use std::time::Duration;

use super::{
    SLACK, State,
    model::{CallerId, LeaseId, Status},
};

impl State {
    /// The release of this lease has just begun: for how long its term may linger. Somebody may seem to be in line who lines
    /// up only when it polls.
    pub(super) fn may_linger(&self, lease: LeaseId) -> Option<Duration> {
        let term = self.terms.get(&lease)?;
        let linger = if term.awaited {
            Duration::MAX
        } else {
            term.settings.linger?
        };
        if self.must_end(lease).is_some() {
            return None;
        }
        let longest = (term.settings.duration / 10).min(Duration::from_secs(1));
        let left = (term.sent + longest).saturating_sub(self.holder(lease));
        Some(linger.min(left))
    }

    /// The first call of a caller: it has not left a term to itself that lingers, and was for it.
    pub(super) fn check_lingering(&mut self, id: CallerId) {
        let caller = &self.callers[id];
        let (client, name) = (caller.client, caller.name.clone());
        if caller.calls > 0 || caller.requeued || caller.ticket.is_some() {
            return;
        }
        let now = self.stamp(client);
        let queue = self.known(client, &name).queue.clone();
        let others = queue
            .iter()
            .any(|other| *other != id && self.callers[*other].status == Status::Waiting);
        let lingers = self.terms.iter().find(|(_, term)| {
            let open = term
                .release_began
                .zip(term.lingers)
                .is_some_and(|(began, lingers)| {
                    began.at < now.at && now.contender + SLACK < began.contender + lingers
                });
            let of_name = term.client == client && term.name == name;
            of_name && open && !term.release_called && !term.followed && !term.awaited
        });
        let Some((lease, _)) = lingers else { return };
        let lease = *lease;
        let next = dlock_core::FencingToken::new(lease.token.get() + 1);
        let above = next
            .is_some_and(|token| self.is_above_all_seen(client, &name, LeaseId { token, ..lease }));
        if !others && above && self.must_end(lease).is_none() && self.is_alike(lease, id) {
            self.complain("S7", || format!("{id} asks, and {lease} lingers"));
        }
    }

    /// How long a caller outside of the line may wait for the release of a term that it has ended.
    pub(super) fn ended_what_lingered(&self, id: CallerId) -> Duration {
        let caller = &self.callers[id];
        let ended = self.terms.values().any(|term| {
            let of_name = term.client == caller.client && term.name == caller.name;
            of_name && term.lingers.is_some() && term.release_called && !term.followed
        });
        if ended {
            (caller.settings.duration / 6).min(caller.settings.poll(false))
        } else {
            Duration::ZERO
        }
    }
}
