//! Renewals: when they come, and how far they extend a lease (V4, V6, V7).

use dlock_core::{
    ErrorKind,
    provider::{Renew, RenewOutcome},
};

use super::{Monitor, State, model::Attempt};

impl Monitor {
    /// Renewals of several leases leave in one call.
    pub(in super::super) fn company(&self, client: usize, requests: &[Renew], shards: &[u64]) {
        let mut state = self.state();
        state.note(|| format!("c{client} sends {} renewals together", requests.len()));
        state.figures.batches += 1;
        state.figures.batched += requests.len() as u64;
        state.clients[client].in_company = requests.len();
        if shards.iter().any(|shard| *shard != shards[0]) {
            state.complain("V6", || "renewals of two shards travel together".into());
        }
        let terms = requests
            .iter()
            .filter_map(|request| state.newest(request.uuid));
        let durations = terms.clone().map(|term| term.settings.duration);
        let (least, most) = (durations.clone().min(), durations.max());
        let failed = terms.filter(|term| term.failing.is_some()).count();
        if most > least.map(|least| least * 5 / 4) {
            state.complain("V6", || {
                format!("leases of {least:?} and of {most:?} are renewed together")
            });
        }
        if failed > 0 {
            state.complain("V6", || {
                format!("{failed} renewals that failed are repeated with others")
            });
        }
    }
}

impl State {
    pub(super) fn renew_called(&mut self, client: usize, request: &Renew) {
        let (uuid, n) = (request.uuid, request.n);
        let now = self.stamp(client);
        let Some(term) = self.newest_mut(uuid) else {
            return self.complain("V7", || format!("{uuid} is renewed, and was never granted"));
        };
        let by_guard = term.by_hand == 0;
        term.by_hand = term.by_hand.saturating_sub(1);
        let last = term.attempts.keys().next_back().copied();
        let newest = term.attempts.values().map(|attempt| attempt.sent).max();
        // The guard decided to renew before it knew the answer to a renewal by hand in the same instant.
        let just_kept =
            term.heard == now.holder && !term.attempts.values().any(|attempt| attempt.by_guard);
        let attempt = Attempt {
            sent: now.holder,
            by_guard,
            open: true,
            earlier: false,
        };
        term.attempts.insert(n, attempt);
        let ended = !term.valid(now.holder);
        let failing = if by_guard { term.failing.take() } else { None };
        let due = term.credited + term.settings.renew_every;
        let least = term.settings.failure_pause() / 2;
        let stop = term.settings.max_hold.map(|most| term.since + most);
        let stopped = by_guard && stop.is_some_and(|stop| now.holder > stop);
        let guarded = term.guarded.is_some();
        let left = term.deadline.saturating_sub(now.holder);
        let hurried = left < term.settings.duration / 6 * 3 / 4;
        let duration = term.settings.duration;
        if last.is_some_and(|last| n <= last) || newest.is_some_and(|newest| newest > now.holder) {
            self.complain("V4", || format!("{uuid}: attempt {n} follows {last:?}"));
        }
        if ended {
            self.complain("V7", || format!("{uuid} is renewed, and has ended"));
        }
        if stopped {
            self.complain("max_hold", || {
                format!("{uuid} is renewed beyond its longest hold")
            });
        }
        if !by_guard {
            return;
        }
        if !guarded {
            self.complain("V6", || {
                format!("{uuid} is renewed, and nobody asked for it")
            });
        }
        let state = &mut self.clients[client];
        let alone = state.in_company == 0;
        state.in_company = state.in_company.saturating_sub(1);
        if alone && !hurried && failing.is_none() {
            // The shard of a name is its last letter's.
            let last = request.name.as_str().bytes().last().unwrap_or_default();
            let lane = (now.at, duration, last % 4 == 3);
            if state.sent_alone.replace(lane) == Some(lane) {
                self.complain("V6", || {
                    format!("{uuid} is renewed alone, and another one at the same time")
                });
            }
        }
        match failing {
            Some(failed) => {
                // The clock of leases, which goes on while a machine sleeps.
                let gap = now.holder.saturating_sub(failed.holder);
                if gap < least {
                    self.complain("V6", || {
                        format!("{uuid} is renewed {gap:?} after a failure")
                    });
                }
            }
            None if now.holder < due && !just_kept => {
                let early = due - now.holder;
                self.complain("V6", || format!("{uuid} is renewed {early:?} too early"));
            }
            None => {}
        }
    }

    pub(super) fn renew_answered(
        &mut self,
        client: usize,
        request: &Renew,
        outcome: &RenewOutcome,
    ) {
        let now = self.stamp(client);
        let Some(term) = self
            .newest
            .get(&request.uuid)
            .and_then(|lease| self.terms.get_mut(lease))
        else {
            return;
        };
        let Some(attempt) = term.attempts.get_mut(&request.n) else {
            return;
        };
        attempt.open = false;
        let (sent, earlier) = (attempt.sent, attempt.earlier);
        term.heard = now.holder;
        match outcome {
            RenewOutcome::Renewed { asked } => {
                term.asked |= asked;
                if term.valid(now.holder) && !earlier {
                    term.deadline = term.deadline.max(sent + term.settings.validity());
                    if sent >= term.credited {
                        term.credited = sent;
                        term.fatal = false;
                    }
                    self.figures.renewals += 1;
                } else {
                    self.figures.late_renewals += 1;
                }
            }
            RenewOutcome::Lost(record) => {
                term.gone = true;
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

    pub(super) fn renew_failed(&mut self, client: usize, request: &Renew, kind: ErrorKind) {
        let now = self.stamp(client);
        let Some(term) = self.newest_mut(request.uuid) else {
            return;
        };
        let Some(attempt) = term.attempts.get_mut(&request.n) else {
            return;
        };
        attempt.open = false;
        // The lease that it was for is over.
        if attempt.earlier {
            return;
        }
        let by_guard = attempt.by_guard;
        term.fatal |= kind == ErrorKind::Fatal;
        if by_guard {
            term.failing = Some(now);
        }
    }
}
