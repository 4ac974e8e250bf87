//! A configuration of a search: the parties, the possible events, and how often each may happen.

use crate::{property::Property, state::CLIENTS, trap::Trap};

/// How it is decided that a lease has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol has two")]
pub enum Discipline {
    /// The store decides, by its own clock.
    StoreClock,
    /// The contenders decide, by their observations.
    Observer,
}

/// One configuration. Every number bounds how often something may happen in one history; none says
/// when.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests and the binary build it")]
pub struct Config {
    /// O1: how it is decided that a lease has ended.
    pub discipline: Discipline,
    /// Processes that want the name.
    pub clients: u8,
    /// Acquires of each client, each with its own uuid and `sent`.
    pub tries: u8,
    /// Renewals of each client.
    pub renewals: u8,
    /// Requests of each client that arrive once more, at any later time: copies made by the network, by
    /// an SDK, or by the client after `Unknown`.
    pub copies: u8,
    /// Crashes of each client. A restarted process knows nothing of its past.
    pub crashes: u8,
    /// D of each client, in ticks.
    pub durations: [u8; CLIENTS],
    /// Tokens that each client's grants bring: that many leases may follow one another on a term (T1, S1). One: the
    /// client has a release of dlock without successors, or its store reports no block.
    pub blocks: [u8; CLIENTS],
    /// Ticks by which a holder stops early (V1).
    pub margin: u8,
    /// Ticks that clients' clocks lose or gain against the true time, all clients together.
    pub drifts: u8,
    /// A client may start a try while another of its own is open or leased (I12).
    pub concurrent: bool,
    /// H7.
    pub hand_over: bool,
    /// B1: revokes, and copies of them.
    pub revokes: u8,
    /// B4: for how many ticks a holder's release closes the name; 0: it frees it.
    pub closes: u8,
    /// B2: forced releases.
    pub forces: u8,
    /// T5: purges.
    pub purges: u8,
    /// How many times the store may lose everything that it has acknowledged.
    pub failovers: u8,
    /// Its clock is then behind the last token as well, so that only T6 protects, and only clients that know a token.
    pub clock_behind: bool,
    /// T6: clients learn the highest token that the resource has seen.
    pub floors: bool,
    /// Steps that the store's clock may make, forward positive.
    pub steps: &'static [i8],
    /// How many such steps.
    pub step_count: u8,
    /// Holders write to a resource, at any time after they were granted, however late.
    pub resource: bool,
    /// T3: the resource compares tokens.
    pub fenced: bool,
    /// The trap, if any.
    pub trap: Option<Trap>,
    /// The properties to check.
    pub properties: &'static [Property],
    /// States whose differences cannot matter count as one (`normal`).
    pub reduced: bool,
    /// The search omits steps where another one, possible at the same time, can do all that they can do
    /// and more (`dominance`).
    pub dominant: bool,
    /// Among these, reads of the record later than at once.
    pub looks_at_once: bool,
}

impl Config {
    /// Two clients with two tries, two renewals, release, crash and one copy each, one tick of
    /// drift within a margin of one.
    #[must_use]
    pub fn new(discipline: Discipline) -> Self {
        Self {
            discipline,
            clients: 2,
            tries: 2,
            renewals: 2,
            copies: 1,
            crashes: 1,
            durations: [3; CLIENTS],
            blocks: [1; CLIENTS],
            margin: 1,
            drifts: 1,
            concurrent: false,
            hand_over: false,
            revokes: 0,
            closes: 0,
            forces: 0,
            purges: 0,
            failovers: 0,
            clock_behind: false,
            floors: false,
            steps: &[],
            step_count: 0,
            resource: false,
            fenced: true,
            trap: None,
            properties: Property::ALL,
            reduced: true,
            dominant: true,
            looks_at_once: true,
        }
    }

    pub(crate) fn store_clock(&self) -> bool {
        self.discipline == Discipline::StoreClock
    }

    /// Clients see every version as soon as it is there.
    pub(crate) fn looks_at_once(&self) -> bool {
        self.dominant && self.looks_at_once
    }

    pub(crate) fn is(&self, trap: Trap) -> bool {
        self.trap == Some(trap)
    }

    /// Only in a trap: the record shows the first token of a block, not the last.
    pub(crate) fn shows_beginning(&self) -> bool {
        matches!(
            self.trap,
            Some(
                Trap::BeginningShownAndPurged
                    | Trap::BeginningShownAndLost
                    | Trap::BeginningShownToOlderRelease
            )
        )
    }

    /// Which client drew this uuid.
    pub(crate) fn client(&self, term: usize) -> usize {
        term / usize::from(self.tries)
    }

    pub(crate) fn terms(&self) -> usize {
        usize::from(self.clients) * usize::from(self.tries)
    }

    /// D of a term.
    pub(crate) fn duration(&self, term: usize) -> u8 {
        self.durations[self.client(term)]
    }

    /// T1: how many tokens a grant to this term brings.
    pub(crate) fn block(&self, term: usize) -> u8 {
        self.blocks[self.client(term)]
    }

    /// The most leases that any term can have.
    pub(crate) fn longest_block(&self) -> u8 {
        self.blocks.into_iter().max().unwrap_or(1)
    }

    /// V1: how long after `sent` a holder believes.
    pub(crate) fn belief(&self, term: usize) -> u8 {
        self.duration(term) - self.margin
    }

    /// Only their names distinguish the clients.
    pub(crate) fn symmetric(&self) -> bool {
        self.reduced
            && self.trap.is_none()
            && self.durations.iter().all(|d| *d == self.durations[0])
            && self.blocks.iter().all(|block| *block == self.blocks[0])
    }

    /// How far a store's clock may still go back, which limits how long ago an expiry may be and still matter.
    pub(crate) fn longest_step_back(&self, steps: u8) -> i8 {
        let back = self
            .steps
            .iter()
            .map(|step| -step)
            .max()
            .unwrap_or(0)
            .max(0);
        if steps == 0 {
            0
        } else {
            back.saturating_mul(i8::try_from(steps).unwrap_or(i8::MAX))
        }
    }
}
