//! After a release a term may stay with its client, for those in line (S1).

use std::time::Duration;

use super::{State, model::LeaseId};

impl State {
    /// The release of this lease has just begun: for how long its term may linger. Somebody may seem to be in line who lines
    /// up only when it polls.
    pub(super) fn may_linger(&self, lease: LeaseId) -> Option<Duration> {
        let term = self.terms.get(&lease)?;
        if !term.awaited || self.must_end(lease).is_some() {
            return None;
        }
        let longest = (term.settings.duration / 10).min(Duration::from_secs(1));
        Some((term.sent + longest).saturating_sub(self.holder(lease)))
    }
}
