//! A request arrives at the store. The store answers, and this module checks the answer.

use crate::{
    client::{number, prev},
    event::{Event, Log},
    property::Property,
    state::{CLOSED, Ground, Phase, REVOKED, Record, Reply, Row, Term},
    step::Step,
    store::{self, Acquire, Rule},
    trap::Trap,
};

impl<L: Log> Step<'_, L> {
    pub(crate) fn acquire_arrives(&mut self, index: usize, again: bool) {
        if again {
            self.copy(index);
        } else {
            self.state.terms[index].acquires -= 1;
        }
        let new = uuid(index);
        let term = self.state.terms[index];
        let before = self.state.record;
        let request = Acquire {
            new,
            prev: prev(self.config, self.state, term.claim),
            duration: self.config.duration(index),
            block: self.config.block(index),
            floor: term.floor,
            now: self.state.now,
        };
        let rule = store::acquire(self.config, &mut self.state.record, request);
        self.log.log(Event::Store(rule));
        self.judge_acquire(index, rule, &before);

        let record = self.state.record;
        let reply = match rule {
            Rule::A3 => Reply::Spent,
            Rule::A7 => Reply::Held(record.version, record.duration),
            _ => {
                let block = self.config.block(index);
                let token = store::last_of_block(self.config, &record, block);
                Reply::Acquired(token, record.grant)
            }
        };
        let listens = (term.phase == Phase::Pending || self.config.is(Trap::UuidReused))
            && (!self.config.dominant || matches!(reply, Reply::Acquired(..)));
        let replies = &mut self.state.terms[index].replies;
        if listens && !replies.contains(&reply) {
            let free = replies.iter().position(|slot| *slot == Reply::None);
            assert!(free.is_some(), "more answers to one try than REPLIES");
            replies[free.unwrap_or_default()] = reply;
            // The order in which the requests were sent does not determine the order in which they arrive.
            replies.sort_unstable_by_key(|reply| reply.order());
        }
    }

    fn judge_acquire(&mut self, index: usize, rule: Rule, before: &Record) {
        let term = self.state.terms[index];
        let new = uuid(index);
        let expired = store::expired(self.config, before);
        let fits = match rule {
            Rule::A3 => before.version.uuid == new && (!before.held() || expired),
            Rule::A7 => before.held() && !expired && before.version.uuid != new,
            _ => true,
        };
        if !fits {
            self.violated(Property::AnswersFit);
        }
        match rule {
            Rule::A1 | Rule::A4 | Rule::A5 | Rule::A6 => {
                let own = term.claim.ground == Ground::Own && rule == Rule::A6;
                let holder = usize::from(before.version.uuid).wrapping_sub(1);
                let early = self.state.terms.get(holder).is_some_and(Term::closes);
                if self.state.closed > 0 || (own && early) {
                    self.violated(Property::ClosedKeepsOut);
                }
                if before.row != Row::Absent && self.state.record.token <= before.token {
                    self.violated(Property::TokensGrow);
                }
                if before.row != Row::Absent && before.version.uuid == new {
                    self.violated(Property::GrantsOnce);
                }
                if term.phase != Phase::Pending {
                    self.log.log(Event::Orphan);
                }
            }
            Rule::A2 if term.phase == Phase::Pending => self.log.log(Event::ReplayAnswered),
            // The client sent the try with a right to this very version, and was refused.
            Rule::A7 if term.claim.version == before.version => match term.claim.ground {
                Ground::None => {}
                Ground::Observed => self.violated(Property::ObservationEnds),
                Ground::Own => self.violated(Property::OwnOrphanNeverBlocks),
                Ground::Ticket => self.violated(Property::TicketNeverBlocks),
            },
            _ => {}
        }
        if rule == Rule::A6 {
            match term.claim.ground {
                Ground::None => {}
                Ground::Observed => self.log.log(Event::TakenByObservation),
                Ground::Own => self.log.log(Event::TakenFromOneself),
                Ground::Ticket if term.claim.version == self.state.ticket => {
                    self.log.log(Event::TicketRedeemed);
                }
                Ground::Ticket => self.log.log(Event::TicketRedeemedAtOtherNumber),
            }
        }
    }

    pub(crate) fn renewal_arrives(&mut self, index: usize, attempt: usize, again: bool) {
        if again {
            self.copy(index);
        } else {
            self.state.terms[index].attempts[attempt].copies -= 1;
        }
        let uuid = uuid(index);
        let before = self.state.record;
        let rule = store::renew(self.config, &mut self.state.record, uuid, number(attempt));
        self.log.log(Event::Store(rule));
        let expired = store::expired(self.config, &before);
        if rule == Rule::R3 && before.held_by(uuid) && !expired {
            self.violated(Property::NoFalseLoss);
        }
        if self.state.record != before && (!before.held_by(uuid) || expired) {
            self.violated(Property::StaleChangesNothing);
        }
        let attempt = &mut self.state.terms[index].attempts[attempt];
        if rule != Rule::R3 {
            attempt.renewed = true;
        } else if !self.config.dominant {
            attempt.lost = true;
        }
    }

    pub(crate) fn release_arrives(&mut self, index: usize, again: bool) {
        if again {
            self.copy(index);
        } else {
            self.state.terms[index].releases -= 1;
        }
        let uuid = uuid(index);
        let before = self.state.record;
        if self.state.terms[index].closing {
            return self.closing_arrives(index, uuid, &before);
        }
        let confirmed = self.state.terms[index].confirmed;
        let rule = store::release(self.config, &mut self.state.record, uuid, confirmed);
        self.log.log(Event::Store(rule));
        if self.state.record.held_by(uuid) {
            self.violated(Property::ReleaseFrees);
        }
        if self.state.record != before && !before.held_by(uuid) {
            self.violated(Property::StaleChangesNothing);
        }
    }

    fn closing_arrives(&mut self, index: usize, uuid: u8, before: &Record) {
        let closing = CLOSED + u8::try_from(index).unwrap_or_default();
        let lasts = self.config.closes;
        let rule = store::close(self.config, &mut self.state.record, uuid, closing, lasts);
        self.log.log(Event::Store(rule));
        if before.held_by(uuid) {
            self.state.closed = lasts;
        } else if self.state.record != *before {
            self.violated(Property::StaleChangesNothing);
        }
        if self.state.record.held_by(uuid) {
            self.violated(Property::ReleaseFrees);
        }
    }

    pub(crate) fn revoke_arrives(&mut self, again: bool) {
        if again {
            self.state.revoke.duplicates -= 1;
        } else {
            self.state.revoke.copies -= 1;
        }
        let rule = store::revoke(&mut self.state.record, self.state.revoke.version);
        self.log.log(Event::Store(rule));
    }
}

fn uuid(index: usize) -> u8 {
    u8::try_from(index + 1).unwrap_or(REVOKED)
}
