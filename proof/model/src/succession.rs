//! Leases that follow one another on a term (S1 to S6), their tokens (T1), and the cases that T1 and T6
//! are for: a record that was purged or lost, and clients that learn of a higher token.

use crate::{
    config::Config,
    event::{Event, Log},
    property::Property,
    state::{Phase, Record, Row, State, Term},
    step::Step,
    trap::Trap,
};

/// T1: the token of a term's lease after that many earlier ones.
pub(crate) fn token(config: &Config, index: usize, term: &Term, before: u8) -> u8 {
    term.token + 1 + before - config.block(index)
}

/// T6: the floor of a client after it learned the highest token. That token may be the first of its block.
pub(crate) fn told(config: &Config, state: &State) -> u8 {
    match state.resource.highest {
        0 => 0,
        highest if config.is(Trap::StaleCountsAlone) => highest + 1,
        highest => highest + config.longest_block(),
    }
}

impl<L: Log> Step<'_, L> {
    /// S1: the lease ends here, and nothing else does.
    pub(crate) fn give(&mut self, index: usize) {
        let term = &mut self.state.terms[index];
        if self.config.is(Trap::GiverReleases) {
            term.releases += 1;
        }
        if self.config.is(Trap::GiverEndsLast) {
            term.giver = true;
            self.succeed(index);
        } else {
            term.between = true;
        }
    }

    /// S1: the next lease begins. `choice` checks the conditions for it.
    pub(crate) fn succeed(&mut self, index: usize) {
        let client = self.config.client(index);
        let floor = self.state.clients[client].floor;
        let term = &mut self.state.terms[index];
        if term.phase != Phase::Leased {
            self.state.violated |= Property::NothingRevived.bit();
            term.phase = Phase::Leased;
        }
        term.between = false;
        term.leases += 1;
        self.log.log(Event::Succeeded);
        if self.config.resource {
            self.begins(index, floor);
        }
    }

    /// Records the token of a lease, with which its holder may write at any time from now on.
    pub(crate) fn begins(&mut self, index: usize, floor: u8) {
        let term = &self.state.terms[index];
        let token = token(self.config, index, term, term.leases);
        let lease = term.grant * self.config.longest_block() + term.leases;
        let resource = &mut self.state.resource;
        let issued = resource.issued;
        resource.writers |= 1 << lease;
        resource.tokens[usize::from(lease)] = token;
        resource.issued |= 1 << token;
        if self.config.clock_behind && floor > 0 {
            resource.told |= 1 << token;
        }
        let promised = !self.config.clock_behind || resource.told >> token & 1 == 1;
        if promised && issued >> token & 1 == 1 {
            self.violated(Property::TokensDiffer);
        }
        if issued >> token != 0 {
            self.violated(Property::LeaseTokensGrow);
        }
        if token < floor {
            self.violated(Property::AboveFloor);
        }
    }

    /// T6.
    pub(crate) fn told(&mut self, client: usize) {
        self.log.log(Event::Told);
        self.state.clients[client].floor = told(self.config, self.state);
    }

    /// T5: the record of a lease that ended long ago, and whose token is below the store's time.
    pub(crate) fn purge(&mut self) {
        self.log.log(Event::Purged);
        self.state.purges -= 1;
        self.loses_record();
    }

    /// Clients that believe in a lease continue to believe. Only tokens protect.
    pub(crate) fn fail_over(&mut self) {
        self.log.log(Event::FailedOver);
        self.state.failovers -= 1;
        self.loses_record();
        if self.config.clock_behind {
            self.state.now = 0;
        }
    }

    /// A later time would only lead to larger tokens.
    fn loses_record(&mut self) {
        let shown = self.state.record.token;
        self.state.now = self.state.now.max(shown + 1);
        self.state.record = Record {
            row: Row::Absent,
            // The number of grants so far, which the store does not know.
            grant: self.state.record.grant,
            ..Record::default()
        };
    }
}
