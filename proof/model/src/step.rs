//! One step of one party. `client` has the decisions of a client, `arrival` the arrivals at the
//! store, `choice` the possible steps.

use crate::{
    action::{Action, Drift},
    config::Config,
    event::{Event, Log},
    property::Property,
    state::{Phase, Reply, Row, State, Term, Version},
    trap::Trap,
};

/// A step being taken.
pub(crate) struct Step<'a, L> {
    pub(crate) config: &'a Config,
    pub(crate) state: &'a mut State,
    pub(crate) log: &'a mut L,
}

impl<L: Log> Step<'_, L> {
    pub(crate) fn take(&mut self, action: Action) {
        self.act(action);
        if self.config.dominant {
            self.dominate();
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Tick(drift) => self.tick(drift),
            Action::ClockStep(by) => {
                self.state.steps -= 1;
                self.state.record.expiry -= by;
            }
            Action::Start { client, claim } => self.start(client.into(), claim),
            Action::Repeat(term) => {
                self.copy(term.into());
                self.term(term).acquires += 1;
            }
            Action::Acquire { term, again } => self.acquire_arrives(term.into(), again),
            Action::Answer { term, slot } => self.answer(term.into(), slot.into()),
            Action::GiveUp(term) => self.over(term.into(), Phase::Over, true),
            Action::Renew { term, attempt } => self.renew(term.into(), attempt.into()),
            Action::Renewal {
                term,
                attempt,
                again,
            } => self.renewal_arrives(term.into(), attempt.into(), again),
            Action::Renewed { term, attempt } => self.renewed(term.into(), attempt.into()),
            Action::Lost { term, attempt } => {
                self.term(term).attempts[usize::from(attempt)].lost = false;
                self.log.log(Event::LossHeard);
                self.term(term).phase = Phase::Ended;
            }
            Action::Release(term) => self.release(term.into()),
            Action::Released { term, again } => self.release_arrives(term.into(), again),
            Action::HandOver(term) => {
                let confirmed = self.term(term).confirmed;
                if self.config.is(Trap::TicketOnLivingTerm) {
                    self.term(term).between = true;
                } else {
                    self.term(term).phase = Phase::Handed;
                }
                self.state.ticket = Version {
                    uuid: term + 1,
                    renewals: confirmed,
                };
            }
            Action::Give(term) => self.give(term.into()),
            Action::Succeed(term) => self.succeed(term.into()),
            Action::GiverEnds(term) => self.term(term).giver = false,
            Action::Told(client) => self.told(client.into()),
            Action::Purge => self.purge(),
            Action::Failover => self.fail_over(),
            Action::Look(client) => self.look(client.into()),
            Action::Crash(client) => self.crash(client.into()),
            Action::Revoke(by) => {
                self.state.revoke.left -= 1;
                self.state.revoke.copies = 1;
                self.state.revoke.version = self.state.record.version;
                self.state.revoke.by = by;
            }
            Action::Revoked { again } => self.revoke_arrives(again),
            Action::Force => {
                self.state.forces -= 1;
                let uuid = self.state.record.version.uuid;
                self.term(uuid - 1).releases += 1;
            }
            Action::Write(lease) => self.write(lease),
            Action::Reuse(term) => {
                let again = self.term(term);
                again.phase = Phase::Pending;
                again.clock = 0;
                again.acquires += 1;
            }
        }
    }

    /// All clocks run; the configuration bounds how far they go wrong.
    fn tick(&mut self, drift: Drift) {
        if drift != Drift::None {
            self.state.drifts -= 1;
        }
        for client in 0..self.config.clients {
            let ticks = match drift {
                Drift::Slow(slow) if slow == client => 0,
                Drift::Fast(fast) if fast == client => 2,
                _ => 1,
            };
            self.client_ages(client.into(), ticks);
        }
        self.state.closed = self.state.closed.saturating_sub(1);
        if self.config.store_clock() && self.state.record.held() {
            let floor = -self.config.longest_step_back(self.state.steps);
            self.state.record.expiry = (self.state.record.expiry - 1).max(floor);
        }
    }

    fn client_ages(&mut self, client: usize, ticks: u8) {
        let first = client * usize::from(self.config.tries);
        for index in first..first + usize::from(self.config.tries) {
            let limit = self.config.duration(index);
            let term = &mut self.state.terms[index];
            match term.phase {
                Phase::Pending => term.clock = (term.clock + ticks).min(limit),
                Phase::Over if term.closing => term.clock = term.clock.saturating_sub(ticks),
                Phase::Leased => {
                    term.clock = term.clock.saturating_sub(ticks);
                    if term.clock == 0 {
                        term.phase = Phase::Ended;
                        term.giver = false;
                        self.log.log(Event::DeadlinePassed);
                    }
                }
                _ => {}
            }
            for attempt in &mut term.attempts {
                attempt.age = (attempt.age + ticks).min(limit);
            }
        }
        let client = &mut self.state.clients[client];
        client.seen_age = (client.seen_age + ticks).min(client.seen_duration);
    }

    /// The process is gone, its messages are not. Its replacement knows nothing.
    fn crash(&mut self, client: usize) {
        let first = client * usize::from(self.config.tries);
        for term in &mut self.state.terms[first..first + usize::from(self.config.tries)] {
            if term.phase != Phase::Unused {
                term.phase = Phase::Gone;
            }
        }
        let client = &mut self.state.clients[client];
        client.crashes -= 1;
        client.seen = Version::default();
        client.seen_duration = 0;
        client.seen_age = 0;
    }

    /// A read: its result is observed like that of a `Held`.
    fn look(&mut self, client: usize) {
        let record = self.state.record;
        if record.row == Row::Held {
            self.observe(client, record.version, record.duration, 0);
        } else {
            self.forget(client);
        }
    }

    /// Any other version replaces what was observed.
    pub(crate) fn observe(&mut self, client: usize, version: Version, duration: u8, age: u8) {
        let kept = self.config.is(Trap::ObservationKept);
        let known = &mut self.state.clients[client];
        if known.seen == version || (kept && known.seen.uuid == version.uuid) {
            known.seen = version;
            self.log.log(Event::SeenAgain);
        } else {
            known.seen = version;
            known.seen_duration = duration;
            known.seen_age = age;
        }
    }

    pub(crate) fn forget(&mut self, client: usize) {
        let known = &mut self.state.clients[client];
        known.seen = Version::default();
        known.seen_duration = 0;
        known.seen_age = 0;
    }

    /// T3, and the property that it serves.
    fn write(&mut self, lease: u8) {
        let resource = &mut self.state.resource;
        let token = resource.tokens[usize::from(lease)];
        if self.config.fenced && token < resource.highest {
            self.log.log(Event::WriteRefused);
            return;
        }
        self.log.log(Event::WriteAccepted);
        let stale = lease < resource.newest;
        resource.highest = resource.highest.max(token);
        resource.newest = resource.newest.max(lease);
        if stale {
            self.violated(Property::FencedOrder);
        }
    }

    /// The try has ended; a record that it may have left in the store is released in the background.
    pub(crate) fn over(&mut self, index: usize, phase: Phase, release: bool) {
        let term = &mut self.state.terms[index];
        term.phase = phase;
        term.releases += u8::from(release);
        if !self.config.is(Trap::UuidReused) {
            term.replies = [Reply::None; _];
        }
    }

    /// One more of a client's requests is in flight than it meant to send.
    pub(crate) fn copy(&mut self, index: usize) {
        let client = self.config.client(index);
        self.state.clients[client].copies -= 1;
    }

    pub(crate) fn term(&mut self, term: u8) -> &mut Term {
        &mut self.state.terms[usize::from(term)]
    }

    pub(crate) fn violated(&mut self, property: Property) {
        self.state.violated |= property.bit();
    }
}
