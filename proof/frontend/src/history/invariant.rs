//! The names of the invariants that a history is checked for.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An invariant that a history can show to be broken. `book/src/design/time.md` states them for users; the checker defines
/// what exactly is checked for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Invariant {
    /// The intervals in which different leases of a name are valid never overlap.
    I1,
    /// A deadline is never later than the first instant the store could give the name away.
    I2,
    /// Tokens of successive grants strictly increase; renewals keep theirs.
    I3,
    /// A grant acknowledged before another was asked for has the smaller token.
    I4,
    /// A fenced resource accepts no write with a token below one it accepted before.
    I5,
    /// A deadline is at most `sent` of the request it rests on + D x (1 - margin).
    I6,
    /// No reply revives a lost lease; the deadline never moves back.
    I7,
    /// A lease is not valid after its deadline, and a holder that waits for the loss is notified within 50 ms.
    I8,
    /// A stale uuid changes nothing; release is idempotent; from its start the lease is invalid.
    I9,
    /// The remains of a call that failed or was dropped stop blocking others in time.
    I10,
    /// One request, however often delivered, grants at most once and mints one token.
    I11,
    /// Two leases in one process compete like two machines.
    I12,
    /// A dead holder's lock is taken over in time.
    I15,
    /// An outage that ends early enough loses no lease.
    I17,
    /// A lease that ends before its `at_least` has passed closes its name until then; nothing else does.
    B4,
    /// The history itself is impossible: a reply without a call, a lease without a grant.
    Shape,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::I1,
        Self::I2,
        Self::I3,
        Self::I4,
        Self::I5,
        Self::I6,
        Self::I7,
        Self::I8,
        Self::I9,
        Self::I10,
        Self::I11,
        Self::I12,
        Self::I15,
        Self::I17,
        Self::B4,
        Self::Shape,
    ];

    /// The invariant in a few words.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::I1 => "two leases of one name are never valid at the same time",
            Self::I2 => "a holder stops believing before the store can give the name away",
            Self::I3 => "tokens grow from grant to grant",
            Self::I4 => "a request after a grant was known gets a larger token",
            Self::I5 => "a fenced resource accepts no stale write",
            Self::I6 => "a deadline counts from when its request left",
            Self::I7 => "a lost lease stays lost, a deadline never moves back",
            Self::I8 => "a lease is invalid after its deadline, and its loss is reported at once",
            Self::I9 => "a stale holder changes nothing, a released lease is invalid",
            Self::I10 => "the remains of a failed call block no client for long",
            Self::I11 => "one request grants once",
            Self::I12 => "two leases of one process exclude each other",
            Self::I15 => "a dead holder's lock is taken over in time",
            Self::I17 => "a short outage loses no lease",
            Self::B4 => "a closed name goes to no client before its time",
            Self::Shape => "a history is complete",
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
