//! The state at one instant: the record, every term, every client, the messages in flight.
//!
//! All times are distances from now, capped where more makes no difference, so the space is finite
//! although time is not. `step` defines how a state changes, and `normal` which differences do not
//! matter.

#![expect(
    clippy::exhaustive_structs,
    clippy::exhaustive_enums,
    reason = "a model's state hides nothing"
)]

/// The most clients of any configuration.
pub const CLIENTS: usize = 3;
/// The most tries of any configuration, of all clients together.
pub const TERMS: usize = 6;
/// Renewal attempts of one term.
pub const ATTEMPTS: usize = 2;
/// The different answers to one try that can be in flight at once.
pub const REPLIES: usize = 3;
/// Leases that the fenced resource can tell apart.
pub const LEASES: usize = 16;

/// The uuid of a try: its place in `State::terms` + 1.
pub type Id = u8;
/// No uuid.
pub const NOBODY: Id = 0;
/// The uuid that a revoke puts in (B1). No try has it.
pub const REVOKED: Id = 7;
/// The uuid that the first try's closing puts in (B4); the second's is the next. No try has them.
pub const CLOSED: Id = 8;

/// The state at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The one row of the one name.
    pub record: Record,
    /// All tries, those of the first client first.
    pub terms: [Term; TERMS],
    /// The clients.
    pub clients: [Client; CLIENTS],
    /// H7: the ticket that a giver handed out, for any client to redeem.
    pub ticket: Version,
    /// B1, sent by a person or a tool.
    pub revoke: Revoke,
    /// Ticks by which clocks may still go wrong.
    pub drifts: u8,
    /// Steps that the store's clock may still make.
    pub steps: u8,
    /// Forced releases that may still be sent (B2).
    pub forces: u8,
    /// T5: purges that may still happen.
    pub purges: u8,
    /// How many more times the store may lose everything.
    pub failovers: u8,
    /// T1: the store's time as a token, as far as it is known.
    pub now: u8,
    /// B4: ticks of the true time for which the name is to stay closed. No party knows it; only properties read it.
    pub closed: u8,
    /// The resource that the holders write to, in configurations that have one.
    pub resource: Resource,
    /// The properties that an answer or a belief has violated, a bit for each `Property`.
    pub violated: u32,
}

/// (uuid, renewals): the pair that an observer compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The term's.
    pub uuid: Id,
    /// The newest applied renewal.
    pub renewals: u8,
}

/// The store's record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Absent, held or released.
    pub row: Row,
    /// uuid and renewals.
    pub version: Version,
    /// For how long others are kept out.
    pub duration: u8,
    /// `StoreClock`: ticks of the store's clock until it has expired; not positive: expired.
    pub expiry: i8,
    /// The last fencing token of the last grant's block (T1).
    pub token: u8,
    /// The number of grants so far. The store does not know it; only properties read it.
    pub grant: u8,
}

/// The state of the row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Row {
    /// Never acquired.
    #[default]
    Absent,
    /// Held.
    Held,
    /// Free.
    Released,
}

/// A try, the lease that resulted from it, and its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// Its phase.
    pub phase: Phase,
    /// `Pending`: ticks since `sent`. `Leased`: ticks until `valid_until`. `Over`, if it closes the name:
    /// ticks until the name opens. All on its client's clock.
    pub clock: u8,
    /// `Leased`: no lease of it is held now. The last one has ended, and another may begin (S1).
    pub between: bool,
    /// S1: how many of its leases there were before this one.
    pub leases: u8,
    /// Only in a trap: the lease before this one has not ended.
    pub giver: bool,
    /// Where there is a resource: the last token of its block, and the grant.
    pub token: u8,
    /// The grant.
    pub grant: u8,
    /// `Pending`: the claim that it makes.
    pub claim: Claim,
    /// T6: the lowest token that its acquire accepts.
    pub floor: u8,
    /// Copies of its acquire in flight.
    pub acquires: u8,
    /// Copies of its release in flight.
    pub releases: u8,
    /// B4: its release closes the name. `clock` counts how much longer its client must not claim it.
    pub closing: bool,
    /// The highest renewal it knows to be applied.
    pub confirmed: u8,
    /// The numbers of renewals that have been drawn, a bit each.
    pub drawn: u8,
    /// Its renewals: the nth carries number n + 1.
    pub attempts: [Attempt; ATTEMPTS],
    /// Answers to its acquire in flight. The first to arrive ends the try.
    pub replies: [Reply; REPLIES],
}

/// The phase of a term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not drawn yet.
    #[default]
    Unused,
    /// Sent, no answer yet.
    Pending,
    /// Its client believes in the term.
    Leased,
    /// Its client no longer believes in it, and its release has not begun.
    Ended,
    /// Ended (G4): given up, or its release has begun.
    Over,
    /// Ended (G4): by a definite answer that was no grant.
    Refused,
    /// Handed over by ticket (H7).
    Handed,
    /// Its client has forgotten it, or it can no longer have any effect.
    Gone,
}

/// The claim that a try makes in `prev`, and its ground.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// On which ground.
    pub ground: Ground,
    /// The version that no client acts on any more.
    pub version: Version,
}

/// The grounds for a claim (A6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ground {
    /// No claim: `prev` is none.
    #[default]
    None,
    /// (a) seen unchanged for the record's duration.
    Observed,
    /// (b) a try or lease of this client that has ended (G4).
    Own,
    /// (c) its holder handed it over (H8).
    Ticket,
}

/// One renewal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// Ticks since its own `sent`.
    pub age: u8,
    /// Copies in flight.
    pub copies: u8,
    /// The answer `Renewed` is in flight.
    pub renewed: bool,
    /// The answer `Lost` is in flight.
    pub lost: bool,
}

/// An answer to an acquire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reply {
    /// None in flight.
    #[default]
    None,
    /// With the token, and the grant it belongs to.
    Acquired(u8, u8),
    /// A3.
    Spent,
    /// With the version and the duration of the record.
    Held(Version, u8),
}

/// The knowledge of one client process other than its terms, and what it may still do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Tries it has drawn.
    pub tried: u8,
    /// Renewals it may still send.
    pub renewals: u8,
    /// Copies of its requests that the network, an SDK or the client itself may still make.
    pub copies: u8,
    /// Crashes it may still suffer.
    pub crashes: u8,
    /// The last version it was shown.
    pub seen: Version,
    /// The duration of that record.
    pub seen_duration: u8,
    /// Ticks of its clock since it first saw that version.
    pub seen_age: u8,
    /// T6: the lowest token that it may be granted.
    pub floor: u8,
}

/// The revoke (B1) in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revoke {
    /// Revokes that may still be sent.
    pub left: u8,
    /// Copies in flight.
    pub copies: u8,
    /// Copies that may still be made.
    pub duplicates: u8,
    /// The version that was read.
    pub version: Version,
    /// The client that sent it, where a trap needs it.
    pub by: u8,
}

/// T3: a store of data that holders write to, at any time after their grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// Leases whose holders may write, now or much later: a bit each. Those of a later grant come after those of an
    /// earlier one, and those of one term in their order.
    pub writers: u16,
    /// The token of each of these leases.
    pub tokens: [u8; LEASES],
    /// The tokens of all leases so far, a bit each. The resource does not know them.
    pub issued: u32,
    /// Where the store's clock falls behind: the tokens of clients that had learned of a higher token before.
    pub told: u32,
    /// The highest token seen.
    pub highest: u8,
    /// The newest lease with an accepted write. The resource does not know it.
    pub newest: u8,
}

impl Record {
    /// Held, whether or not it has expired.
    #[must_use]
    pub fn held(&self) -> bool {
        self.row == Row::Held
    }

    /// Held by this uuid.
    #[must_use]
    pub fn held_by(&self, uuid: Id) -> bool {
        self.held() && self.version.uuid == uuid
    }
}

impl Term {
    /// Its release has begun, and the name is to stay closed for a while (B4).
    #[must_use]
    pub fn closes(&self) -> bool {
        self.closing && self.phase == Phase::Over && self.clock > 0
    }

    /// Its client believes in it.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.phase == Phase::Leased
    }

    /// A lease of it is valid.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.goes_on() && !self.between
    }

    /// How many leases of it are valid.
    #[must_use]
    pub fn valid_leases(&self) -> usize {
        usize::from(self.valid()) + usize::from(self.goes_on() && self.giver)
    }
}

impl Reply {
    /// An order among answers, so that a set of them is always written the same way.
    pub(crate) fn order(self) -> (u8, u8, u8, u8) {
        match self {
            Self::Acquired(token, grant) => (0, token, grant, 0),
            Self::Spent => (1, 0, 0, 0),
            Self::Held(version, duration) => (2, version.uuid, version.renewals, duration),
            Self::None => (3, 0, 0, 0),
        }
    }
}
