//! The decisions and beliefs of a client: V1 to V9, G4, W5, H2, H7, H8.

use crate::{
    config::Config,
    event::{Event, Log},
    property::Property,
    state::{ATTEMPTS, CLOSED, Claim, Ground, Phase, REVOKED, Reply, State, Version},
    step::Step,
    trap::Trap,
};

/// The claims that a client may make in its next try, in addition to making none.
pub(crate) fn claims(config: &Config, state: &State, client: usize) -> impl Iterator<Item = Claim> {
    let known = &state.clients[client];
    let seen = known.seen;
    let shown = seen.uuid != 0;
    let over = shown && over(config, state, client, seen);
    let handed = state.ticket.uuid != 0;
    let needed = if config.is(Trap::OwnDurationObserved) {
        config.durations[client]
    } else if config.is(Trap::ClaimWithoutObservation) {
        0
    } else {
        known.seen_duration
    };
    let observed = shown && known.seen_age >= needed;
    let on_ticket = if shown && seen.uuid == state.ticket.uuid {
        seen
    } else {
        state.ticket
    };
    [
        (
            observed && !(over && config.dominant),
            Ground::Observed,
            seen,
        ),
        (over, Ground::Own, seen),
        (handed, Ground::Ticket, on_ticket),
    ]
    .into_iter()
    .filter(|(may, ..)| *may)
    .map(|(_, ground, version)| Claim { ground, version })
}

/// G4: the record shown is of a try or a lease of this client that has ended.
fn over(config: &Config, state: &State, client: usize, seen: Version) -> bool {
    if seen.uuid == REVOKED {
        return config.is(Trap::RevokerClaims) && usize::from(state.revoke.by) == client;
    }
    if seen.uuid >= CLOSED {
        return false;
    }
    let index = usize::from(seen.uuid - 1);
    let closes = state.terms[index].closes() && !config.is(Trap::ClosingClaimed);
    config.client(index) == client
        && !closes
        && match state.terms[index].phase {
            Phase::Over | Phase::Refused => true,
            Phase::Leased if config.is(Trap::EndedLeaseClaimed) => {
                state.terms[index].between || state.terms[index].leases > 0
            }
            Phase::Pending | Phase::Leased => config.is(Trap::LiveOwnClaimed),
            _ => false,
        }
}

/// The claim that goes into `prev`.
pub(crate) fn prev(config: &Config, state: &State, claim: Claim) -> Option<Version> {
    match claim.ground {
        Ground::None => None,
        Ground::Own
            if config.is(Trap::OnlyGivenUpRemembered)
                && state.terms[usize::from(claim.version.uuid - 1)].phase == Phase::Refused =>
        {
            None
        }
        Ground::Ticket if config.is(Trap::TicketInsistsOnNumber) => Some(state.ticket),
        Ground::Observed | Ground::Own | Ground::Ticket => Some(claim.version),
    }
}

impl<L: Log> Step<'_, L> {
    /// A fresh uuid and a separate `sent` (W5).
    pub(crate) fn start(&mut self, client: usize, claim: Claim) {
        let known = &mut self.state.clients[client];
        let floor = known.floor;
        let index = client * usize::from(self.config.tries) + usize::from(known.tried);
        known.tried += 1;
        let term = &mut self.state.terms[index];
        term.phase = Phase::Pending;
        term.clock = 0;
        term.claim = claim;
        term.floor = floor;
        term.acquires = 1;
    }

    /// The first answer ends the try.
    pub(crate) fn answer(&mut self, index: usize, slot: usize) {
        let client = self.config.client(index);
        let age = self.state.terms[index].clock;
        let reply = std::mem::take(&mut self.state.terms[index].replies[slot]);
        match reply {
            Reply::None => {}
            Reply::Acquired(token, grant) => self.acquired(index, token, grant),
            Reply::Spent => self.over(index, Phase::Refused, false),
            Reply::Held(version, duration) => {
                self.log.log(Event::Refused);
                self.over(index, Phase::Refused, false);
                let age = if self.config.is(Trap::ObservedFromQuestion) {
                    age
                } else {
                    0
                };
                self.observe(client, version, duration, age);
            }
        }
    }

    fn acquired(&mut self, index: usize, token: u8, grant: u8) {
        let belief = self.config.belief(index);
        // V1: the remaining time counts from before the request.
        let left = belief.saturating_sub(self.state.terms[index].clock);
        let credited = if self.config.is(Trap::DeadlineFromReply) {
            belief
        } else {
            left
        };
        if credited > left {
            self.violated(Property::DeadlineFromSent);
        }
        self.forget(self.config.client(index));
        if credited == 0 {
            // V9.
            self.log.log(Event::GrantTooLate);
            self.over(index, Phase::Over, true);
            if self.config.is(Trap::LateGrantHandedOut) {
                self.violated(Property::NoDeadGrant);
            }
            return;
        }
        self.log.log(Event::Granted);
        let term = &mut self.state.terms[index];
        term.phase = Phase::Leased;
        term.clock = credited;
        if !self.config.is(Trap::UuidReused) {
            term.replies = [Reply::None; _];
        }
        if self.config.resource {
            term.token = token;
            term.grant = grant;
            let floor = term.floor;
            self.begins(index, floor);
        }
    }

    /// V4: number and `sent` in one step.
    pub(crate) fn renew(&mut self, index: usize, attempt: usize) {
        let client = self.config.client(index);
        self.state.clients[client].renewals -= 1;
        let term = &mut self.state.terms[index];
        term.drawn |= 1 << attempt;
        term.attempts[attempt].age = 0;
        term.attempts[attempt].copies = 1;
    }

    /// V4: a success counts from the `sent` of the attempt that it answers.
    pub(crate) fn renewed(&mut self, index: usize, attempt: usize) {
        let belief = self.config.belief(index);
        let term = &mut self.state.terms[index];
        term.attempts[attempt].renewed = false;
        let left = belief.saturating_sub(term.attempts[attempt].age);
        let credited = if self.config.is(Trap::CreditedToNewest) {
            let newest = (0..ATTEMPTS).filter(|n| term.drawn >> n & 1 == 1).max();
            belief.saturating_sub(term.attempts[newest.unwrap_or(attempt)].age)
        } else {
            left
        };
        term.confirmed = term.confirmed.max(number(attempt));
        let was_over = term.phase != Phase::Leased;
        let before = term.clock;
        if credited > before || self.config.is(Trap::DeadlineMovesBack) {
            term.clock = credited;
            self.log.log(Event::Extended);
        } else {
            self.log.log(Event::NotExtended);
        }
        if was_over && credited > 0 {
            term.phase = Phase::Leased;
        }
        if (was_over && credited > 0) || term.clock < before {
            self.violated(Property::NothingRevived);
        }
        if credited > left {
            self.violated(Property::DeadlineFromSent);
        }
    }

    /// V7: invalid from now on.
    pub(crate) fn release(&mut self, index: usize) {
        let closes = self.config.closes;
        let term = &mut self.state.terms[index];
        term.releases += 1;
        // B4: work that ended in time. A lost lease closes nothing.
        if closes > 0 && term.phase == Phase::Leased {
            term.closing = true;
            term.clock = closes;
        }
        match term.phase {
            // A lease that was handed over stays the ticket's: its giver no longer claims it (G4).
            Phase::Handed => term.clock = 1,
            Phase::Leased if self.config.is(Trap::ValidWhileReleasing) => {}
            _ => term.phase = Phase::Over,
        }
        term.giver = false;
    }
}

/// The number that an attempt carries.
pub(crate) fn number(attempt: usize) -> u8 {
    u8::try_from(attempt + 1).unwrap_or(u8::MAX)
}
