//! What should have happened by now and did not: overdue calls, leases that are not what they should
//! be, news that did not arrive. Asked at short intervals while a run goes on, and at its end.

use std::time::Duration;

use uuid::Uuid;

use super::{
    Monitor, SLACK, State,
    model::{Finished, LeaseId, Probe, Status},
};

/// I8.
const NOTICE: Duration = Duration::from_millis(50);

impl Monitor {
    /// Looks at everything once.
    pub(in super::super) fn sweep(&self) {
        // Handles are looked through without the lock: looking may wake tasks.
        let watched: Vec<_> = {
            let state = self.state();
            // Half of them: a question also closes a lease that is over, which must happen without.
            let watched = state
                .terms
                .iter()
                .filter(|(lease, _)| lease.uuid.as_bytes()[0] % 2 == 0);
            let watched = watched.filter_map(|(lease, term)| Some((*lease, term.watch.clone()?)));
            watched.collect()
        };
        let probes: Vec<(LeaseId, Option<Probe>)> = watched
            .iter()
            .map(|(lease, watch)| (*lease, watch()))
            .collect();
        let mut state = self.state();
        for (lease, probe) in probes {
            if let Some(probe) = probe {
                state.compare(lease, probe);
            }
        }
        state.sweep_terms();
        state.sweep_callers();
        let calls: Vec<_> = state
            .open
            .iter()
            .map(|id| state.calls[*id].clone())
            .collect();
        for call in calls {
            state.check_life(&call);
        }
    }

    /// Looks at one lease, now.
    pub(in super::super) fn look(&self, lease: LeaseId) {
        let watch = self
            .state()
            .terms
            .get(&lease)
            .and_then(|term| term.watch.clone());
        if let Some(probe) = watch.and_then(|watch| watch()) {
            self.state().compare(lease, probe);
        }
    }

    /// The client was told to close.
    pub(in super::super) fn closes(&self, client: usize) {
        let mut state = self.state();
        let now = state.now();
        state.note(|| format!("c{client} closes"));
        state.clients[client].closing = Some(now);
    }

    /// Whether it was.
    pub(in super::super) fn is_closing(&self, client: usize) -> bool {
        self.state().clients[client].closing.is_some()
    }

    /// Its `close` returned, with how many leases, which are counted here as well.
    pub(in super::super) fn closed(&self, client: usize, counted: usize) {
        let mut state = self.state();
        let now = state.now();
        state.note(|| format!("c{client} closed: {counted}"));
        state.clients[client].closed_down = Some(now);
        let held = state
            .terms
            .values()
            .filter(|term| term.client == client && term.release_began.is_none())
            .count();
        if held != counted {
            state.complain("G3", || {
                format!("c{client} has {held} leases and says {counted}")
            });
        }
        let open = state.open.iter().map(|id| &state.calls[*id]).find(|call| {
            call.client == client
                && !matches!(
                    call.request,
                    dlock_testkit::faults::Request::Renew(_)
                        | dlock_testkit::faults::Request::Read(_)
                        | dlock_testkit::faults::Request::Watch
                )
        });
        if let Some(open) = open {
            let what = format!("c{client} is closed, and waits for {:?}", open.request);
            state.complain("G3", || what);
        }
        let orphans: Vec<Uuid> = state
            .drawn
            .iter()
            .filter(|(uuid, id)| {
                state.callers[**id].client == client
                    && state.in_doubt.contains(*uuid)
                    && !state.newest.contains_key(*uuid)
                    && !state.given_back.contains(*uuid)
            })
            .map(|(uuid, _)| *uuid)
            .collect();
        for uuid in orphans {
            state.complain("I14", || {
                format!(
                    "c{client} does not know whether it was granted {uuid}, and never gave it back"
                )
            });
        }
    }
}

impl State {
    /// A handle against what passed the boundary: I6 to I8, V5, V8.
    fn compare(&mut self, lease: LeaseId, probe: Probe) {
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
        let unsure = valid
            && (term.fatal
                || holder
                    >= term.credited + term.settings.renew_every + term.settings.duration / 6);
        let asked = term.asked;
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
        if let Some((says_unsure, says_asked)) = probe.guard {
            if valid && says_unsure != unsure {
                self.complain("V8", || {
                    format!("{lease} is unsure: {unsure}, and says {says_unsure}")
                });
            }
            if says_asked != asked {
                self.complain("B3", || {
                    format!("{lease} was asked: {asked}, and says {says_asked}")
                });
            }
        }
    }

    fn sweep_terms(&mut self) {
        let now = self.now();
        let awaited = self.awaited_names();
        let mut found = Vec::new();
        for (lease, term) in &mut self.terms {
            let client = &self.clients[term.client];
            let machine = &client.machine;
            let (holder, contender) = (machine.holder(), machine.contender());
            let calm =
                |span: Duration| !client.standing && client.disturbed + span * 2 + SLACK <= now;
            let past_it = holder.saturating_sub(term.deadline);
            // V2: after a standstill the clock is asked again within D/10.
            let step = term.settings.duration / 10;
            let gone = term.release_began.or(term.refused);
            let gone_for = gone.map_or(past_it, |gone| {
                holder.saturating_sub(gone.holder).max(past_it)
            });
            // Told by a watcher, where there is one.
            if term.listened && !term.told && gone_for > NOTICE + SLACK && calm(NOTICE.max(step)) {
                term.told = true;
                let rule = if term.release_began.is_some() {
                    "I9"
                } else {
                    "I8"
                };
                found.push((
                    rule,
                    format!("the end of {lease} was told to nobody in {gone_for:?}"),
                ));
            }
            let mut pickup = term.settings.duration / 6;
            // H3: for a while it may be on offer to the first waiter in line, and not be released.
            if awaited.contains(&(term.client, term.name.clone())) {
                pickup += term.successor_patience();
            }
            let waits = contender.saturating_sub(term.granted.contender);
            if term.delivered.is_none()
                && term.release_began.is_none()
                && waits > pickup + SLACK
                && calm(pickup)
            {
                term.delivered = Some(now);
                found.push((
                    "W6",
                    format!("{lease} was picked up by nobody in {waits:?}, and kept"),
                ));
            }
            if let Some(began) = term.release_began {
                let deserted = (!awaited.contains(&(term.client, term.name.clone())))
                    .then(|| client.names.get(&term.name).map(|known| known.deserted))
                    .flatten();
                let since = contender.saturating_sub(term.release_due(began, deserted));
                let waited = contender.saturating_sub(began.contender);
                let unreleased = !term.release_called
                    && !term.by_ticket
                    && !term.followed
                    && term.refused.is_none();
                if unreleased && since > SLACK && calm(waited) {
                    term.release_called = true;
                    found.push(("I14", format!("{lease} is not given back after {since:?}")));
                }
                continue;
            }
            let stop = term.settings.max_hold.map(|most| term.since + most);
            let stopped = stop.is_some_and(|stop| holder + SLACK >= stop);
            let Some(guarded) = term.guarded else {
                continue;
            };
            let open = term
                .attempts
                .values()
                .any(|attempt| attempt.by_guard && attempt.open);
            if !term.valid(holder) || stopped || open {
                continue;
            }
            let pause = term.settings.failure_pause() * 3 / 2;
            let latest = SLACK + term.settings.gather();
            let late = match term.failing {
                Some(failed)
                    if client.may_wait_for_turn(pause * 2 / 3)
                        && holder <= term.last_chance(failed.holder + pause + latest) + SLACK =>
                {
                    Duration::ZERO
                }
                Some(failed) => contender.saturating_sub(failed.contender + pause),
                None => {
                    let due = term.credited + term.settings.renew_every;
                    holder.saturating_sub(due.max(guarded.holder).max(term.heard))
                }
            };
            if late > latest && calm(late.max(step)) {
                term.guarded = None;
                found.push(("I17", format!("the renewal of {lease} is {late:?} late")));
            }
        }
        for (rule, what) in found {
            self.complain(rule, || what);
        }
    }

    fn sweep_callers(&mut self) {
        let now = self.now();
        for id in 0..self.callers.len() {
            if self.callers[id].status != Status::Waiting {
                continue;
            }
            self.check_overdue(id);
            let caller = &self.callers[id];
            let client = &self.clients[caller.client];
            let contender = client.machine.contender();
            let waited = contender.saturating_sub(caller.began.contender);
            let calm = |since: Duration| !client.standing && client.disturbed + SLACK <= since;
            let undisturbed = calm(caller.began.at);
            if caller.away.is_some() || !undisturbed {
                continue;
            }
            let silent = caller.heard.map(|heard| contender.saturating_sub(heard));
            // It may have waited for a turn before its last try.
            let held = if silent
                .is_some_and(|silent| client.was_out_since(contender.saturating_sub(silent)))
            {
                caller.settings.duration / 3
            } else {
                Duration::ZERO
            };
            // It may have slept for a poll interval before it asked again.
            let patience = caller
                .settings
                .give_up_after
                .max(caller.settings.poll(true) * 6 / 5)
                + caller.settings.duration / 2
                + held
                + caller.settings.failure_pause() * 4;
            let mut found = None;
            if caller.ticket.is_some() && caller.calls == 0 && waited > SLACK {
                found = Some(("H9", format!("{id} has a ticket and is kept waiting")));
            } else if caller.once && caller.calls == 0 && waited > SLACK && !self.may_be_held(id) {
                found = Some((
                    "W1",
                    format!("{id} asks once and is kept waiting for {waited:?}"),
                ));
            } else if caller.limit.is_some_and(|limit| waited > limit + SLACK) {
                found = Some(("W4", format!("{id} has waited {waited:?}, over its limit")));
            } else if !caller.once && silent.is_some_and(|silent| silent > patience + 4 * SLACK) {
                found = Some(("W5", format!("{id} asks a silent store for {silent:?}")));
            } else if let Some(closing) = client.closing
                && now.saturating_sub(closing) > SLACK
                && (caller.calls == 0 || caller.pause.is_some_and(|pause| pause.wakes))
                && !caller.once
            {
                let in_try = caller.pause.is_some_and(|pause| pause.rule == "W5");
                if !in_try {
                    found = Some(("G3", format!("{id} waits on after its client closed")));
                }
            }
            if let Some((rule, what)) = found {
                self.callers[id].status = Status::Done;
                self.complain(rule, || what);
            }
        }
    }
}

impl Finished {
    /// What an acquire's error means.
    pub(in super::super) fn of(error: &dlock_core::Error) -> Self {
        match error {
            dlock_core::Error::Timeout { .. } => Self::TimedOut,
            dlock_core::Error::Closed => Self::Closed,
            dlock_core::Error::Provider(error) => {
                Self::Failed(error.kind() == dlock_core::ErrorKind::Fatal)
            }
            _ => Self::Failed(false),
        }
    }
}
