//! The actions of the model. One action is one atomic step of one party.

use crate::state::Claim;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the model and its traces are one crate"
)]
pub enum Action {
    /// Time passes: one tick on every clock, unless one goes wrong.
    Tick(Drift),
    /// The store's clock jumps by that many ticks.
    ClockStep(i8),
    /// A client draws a uuid, reads its clock and sends acquire.
    Start {
        /// Which client.
        client: u8,
        /// The claim that it makes in `prev`, and its ground.
        claim: Claim,
    },
    /// The client repeats an open try: same uuid, same `sent`.
    Repeat(u8),
    /// An acquire of this term arrives. Copies of it may stay in flight.
    Acquire {
        /// Which term.
        term: u8,
        /// The network delivers it once more, later.
        again: bool,
    },
    /// An answer to the try arrives.
    Answer {
        /// Which term.
        term: u8,
        /// Which of the answers in flight.
        slot: u8,
    },
    /// The client gives the try up (W5): no answer, a dropped call, or `Fatal`. It then sends a release.
    GiveUp(u8),
    /// The holder draws number and `sent` of a renewal, and sends it.
    Renew {
        /// Which term.
        term: u8,
        /// Which of its attempts.
        attempt: u8,
    },
    /// A renewal arrives.
    Renewal {
        /// Which term.
        term: u8,
        /// Which of its attempts.
        attempt: u8,
        /// The network delivers it once more, later.
        again: bool,
    },
    /// `Renewed` arrives.
    Renewed {
        /// Which term.
        term: u8,
        /// Which of its attempts.
        attempt: u8,
    },
    /// `Lost` arrives.
    Lost {
        /// Which term.
        term: u8,
        /// Which of its attempts.
        attempt: u8,
    },
    /// The holder begins its release (V7).
    Release(u8),
    /// A release arrives.
    Released {
        /// Which term.
        term: u8,
        /// The network, or the client after `Unknown`, delivers it once more.
        again: bool,
    },
    /// H7: the holder ends its handle and gives out a ticket.
    HandOver(u8),
    /// S1: a lease ends, and its term continues: for a waiter of the same client.
    Give(u8),
    /// S1: the next lease of the term begins.
    Succeed(u8),
    /// Only in a trap: the lease before this one ends.
    GiverEnds(u8),
    /// T6: a client learns the highest token that the resource has seen.
    Told(u8),
    /// T5: the record is deleted, long after its lease has ended.
    Purge,
    /// The store loses everything that it has acknowledged. Its clock is ahead of the last token that it showed, or far
    /// behind.
    Failover,
    /// A client reads the record (`read`).
    Look(u8),
    /// A process dies, and may start again without memory.
    Crash(u8),
    /// A person reads the record and sends a revoke of the version that it shows (B1).
    Revoke(u8),
    /// A revoke arrives.
    Revoked {
        /// It is delivered once more, later.
        again: bool,
    },
    /// A person reads the record and sends a release of the version that it shows (B2).
    Force,
    /// The holder of this lease writes to the resource, or an earlier write of it arrives there.
    Write(u8),
    /// Only in a trap: the waiter sends another acquire with the uuid of an answered try.
    Reuse(u8),
}

/// The clock that goes wrong in a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a clock is right, slow or fast")]
pub enum Drift {
    /// None.
    None,
    /// This client's stands still.
    Slow(u8),
    /// This client's counts two.
    Fast(u8),
}
