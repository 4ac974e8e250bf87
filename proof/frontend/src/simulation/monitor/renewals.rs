//! Renewals: the order in which they are sent, and how far they extend a lease (V4, V7).

use dlock_core::provider::{Renew, RenewOutcome};

use super::{Monitor, State, model::Attempt};

impl Monitor {
    /// Renewals of several leases leave in one call.
    pub(in super::super) fn company(&self, client: usize, requests: &[Renew]) {
        let mut state = self.state();
        state.note(|| format!("c{client} sends {} renewals together", requests.len()));
        state.figures.batches += 1;
        state.figures.batched += requests.len() as u64;
    }
}

impl State {
    pub(super) fn renew_called(&mut self, client: usize, request: &Renew) {
        let (uuid, n) = (request.uuid, request.n);
        let now = self.stamp(client).holder;
        let Some(term) = self.newest_mut(uuid) else {
            return self.complain("V7", || format!("{uuid} is renewed, and was never granted"));
        };
        let last = term.attempts.keys().next_back().copied();
        let newest = term.attempts.values().map(|attempt| attempt.sent).max();
        let attempt = Attempt {
            sent: now,
            earlier: false,
        };
        term.attempts.insert(n, attempt);
        term.sent = now;
        let ended = !term.valid(now);
        if last.is_some_and(|last| n <= last) || newest.is_some_and(|newest| newest > now) {
            self.complain("V4", || format!("{uuid}: attempt {n} follows {last:?}"));
        }
        if ended {
            self.complain("V7", || format!("{uuid} is renewed, and has ended"));
        }
    }

    pub(super) fn renew_answered(
        &mut self,
        client: usize,
        request: &Renew,
        outcome: &RenewOutcome,
    ) {
        let now = self.stamp(client);
        let newest = self.newest.get(&request.uuid);
        let Some(term) = newest.and_then(|lease| self.terms.get_mut(lease)) else {
            return;
        };
        let Some(Attempt { sent, earlier }) = term.attempts.get(&request.n).copied() else {
            return;
        };
        match outcome {
            RenewOutcome::Renewed { .. } => {
                if term.valid(now.holder) && !earlier {
                    term.deadline = term.deadline.max(sent + term.settings.validity());
                    self.figures.renewals += 1;
                } else {
                    self.figures.late_renewals += 1;
                }
            }
            RenewOutcome::Lost(record) => {
                if term.valid(now.holder) {
                    term.refused = Some(now);
                    self.figures.refused += 1;
                }
                let name = term.name.clone();
                if let Some(record) = record {
                    self.saw(client, &name, record);
                }
            }
        }
    }
}
