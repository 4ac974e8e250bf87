//! Renewals: when they come, and how far they extend a lease (V4, V6, V7).

use dlock_core::{ErrorKind, Renew, RenewOutcome};

use super::{State, model::Attempt};

impl State {
    pub(super) fn renew_called(&mut self, client: usize, request: &Renew) {
        let (uuid, n) = (request.uuid, request.n);
        let now = self.stamp(client);
        let Some(term) = self.terms.get_mut(&uuid) else {
            return self.complain("V7", || format!("{uuid} is renewed, and was never granted"));
        };
        let by_guard = term.by_hand == 0;
        term.by_hand = term.by_hand.saturating_sub(1);
        let last = term.attempts.keys().next_back().copied();
        let newest = term.attempts.values().map(|attempt| attempt.sent).max();
        let attempt = Attempt {
            sent: now.holder,
            by_guard,
            open: true,
        };
        term.attempts.insert(n, attempt);
        let over = !term.valid(now.holder);
        let failing = if by_guard { term.failing.take() } else { None };
        let due = term.credited + term.settings.renew_every;
        let least = term.settings.failure_pause() / 2;
        let stop = term.settings.max_hold.map(|most| term.sent + most);
        let stopped = by_guard && stop.is_some_and(|stop| now.holder > stop);
        let guarded = term.guarded.is_some();
        if last.is_some_and(|last| n <= last) || newest.is_some_and(|newest| newest > now.holder) {
            self.complain("V4", || format!("{uuid}: attempt {n} follows {last:?}"));
        }
        if over {
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
        match failing {
            Some(failed) => {
                let gap = now.contender.saturating_sub(failed.contender);
                if gap < least {
                    self.complain("V6", || {
                        format!("{uuid} is renewed {gap:?} after a failure")
                    });
                }
            }
            None if now.holder < due => {
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
        let Some(term) = self.terms.get_mut(&request.uuid) else {
            return;
        };
        let Some(attempt) = term.attempts.get_mut(&request.n) else {
            return;
        };
        attempt.open = false;
        let sent = attempt.sent;
        match outcome {
            RenewOutcome::Renewed { asked } => {
                term.asked |= asked;
                if term.valid(now.holder) {
                    term.deadline = term.deadline.max(sent + term.settings.belief());
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
        let Some(term) = self.terms.get_mut(&request.uuid) else {
            return;
        };
        let Some(attempt) = term.attempts.get_mut(&request.n) else {
            return;
        };
        attempt.open = false;
        term.fatal |= kind == ErrorKind::Fatal;
        if attempt.by_guard {
            term.failing = Some(now);
        }
    }
}
