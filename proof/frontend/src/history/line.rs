//! One line of a history: an event, with its place and time. This module judges nothing.
//!
//! A history is a file of JSON objects, one a line, in any order; the checker sorts them by `t`. All instants (`t`,
//! `sent`, `valid_until`, ...) are **microseconds on one global axis**, whatever the clock of the process says: the
//! process that writes a line maps its clock's readings to that axis ([`Axis`](super::Axis)). Spans (`duration`,
//! `limit`) are microseconds of the clock they were set on.

mod parts;

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::parts::{AFTERMATH, Cause, Commit, CommitKind, KILL, Outcome, PAUSE, Prev, STALL};
use super::{Header, Invariant};

/// An instant on the global axis, or a span, in microseconds.
pub type Micros = u64;

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::exhaustive_structs,
    reason = "hand-made histories are written as literals"
)]
pub struct Line {
    /// The instant, on the global axis.
    pub t: Micros,
    /// The process; empty for the store, the resource and the network. A process that was started again after its end
    /// has a new name: the old one, `#` and a number, such as `worker-1#2`.
    #[serde(default = "nothing", skip_serializing_if = "is_empty")]
    pub process: Arc<str>,
    /// The name of the lock; empty where there is none.
    #[serde(default = "nothing", skip_serializing_if = "is_empty")]
    pub name: Arc<str>,
    /// The event itself.
    #[serde(flatten)]
    pub what: What,
}

/// An event. The field `op` of a line names its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
#[non_exhaustive]
pub enum What {
    /// The origin of the history, and the facts that its checker needs. The first line.
    Header(Box<Header>),

    /// A process started.
    Start {
        /// How fast its clock runs against the global axis; `None` if that changes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<f64>,
    },
    /// A caller requested the lock.
    Ask {
        /// Numbers the calls of a process.
        handle: u64,
        /// It waits; otherwise it tries once.
        waits: bool,
        /// Its limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Micros>,
    },
    /// That call ended.
    AskEnd {
        /// The number of the call.
        handle: u64,
        /// `ok`: with the lease of `uuid` in hand.
        outcome: Outcome,
        /// The term, with `ok`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uuid: Option<Uuid>,
        /// The lease's token. A term may have several leases, one after the other; without a token its first is
        /// meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
    },
    /// A try began.
    Try {
        /// Its identity.
        uuid: Uuid,
        /// The instant from which its deadline will count.
        sent: Micros,
        /// D.
        duration: Micros,
        /// The version that it claims to be dead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prev: Option<Prev>,
        /// The lowest token that it accepts.
        #[serde(default, skip_serializing_if = "is_zero")]
        floor: u64,
    },
    /// The frontend believes in a grant; or, after the release of a term's last lease has begun, in one more lease
    /// on that term.
    Grant {
        /// The term.
        uuid: Uuid,
        /// The lease's token.
        token: u64,
        /// The instant from which the deadline counts.
        sent: Micros,
        /// The deadline.
        valid_until: Micros,
        /// Unsure from here on without a renewal.
        unsure_from: Micros,
    },
    /// The lease renews itself from here on.
    Keep {
        /// The term.
        uuid: Uuid,
        /// The lease's token. A term may have several leases, one after the other; without a token its first is
        /// meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
    },
    /// The frontend believes in a renewal.
    Credit {
        /// The term.
        uuid: Uuid,
        /// The lease's token. A term may have several leases, one after the other; without a token its first is
        /// meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
        /// The number of the attempt that was answered.
        n: u64,
        /// The instant from which the deadline counts.
        sent: Micros,
        /// The deadline now.
        valid_until: Micros,
        /// Unsure from here on without another one.
        unsure_from: Micros,
    },
    /// The frontend knows that the lease has ended.
    End {
        /// The term.
        uuid: Uuid,
        /// The lease's token. A term may have several leases, one after the other; without a token its first is
        /// meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
        /// The cause of the end.
        cause: Cause,
    },
    /// A holder that was waiting for the loss was notified of it.
    Told {
        /// The term.
        uuid: Uuid,
        /// The lease's token. A term may have several leases, one after the other; without a token its first is
        /// meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
    },
    /// The release of a term, or of a try's possible remains, began.
    ReleaseBegan {
        /// The term.
        uuid: Uuid,
        /// The lease's token. A term may have several leases, one after the other; without a token its first is
        /// meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
    },
    /// That release ended: `ok`, `lost` (the store holds it for another), `unknown` or `fatal`.
    ReleaseEnded {
        /// The term.
        uuid: Uuid,
        /// The lease's token. A term may have several leases, one after the other; without a token its first is
        /// meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
        /// The outcome of the release.
        outcome: Outcome,
    },
    /// A program checked whether its lease is valid. `t` is before the check.
    Look {
        /// The term.
        uuid: Uuid,
        /// The lease's token. A term may have several leases, one after the other; without a token its first is
        /// meant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
        /// The answer.
        valid: bool,
    },

    /// A call to the store: without an outcome when it was sent, with one when it was answered or abandoned. `attempt`
    /// pairs the two within a process.
    Acquire {
        /// Numbers the calls of a process.
        attempt: u64,
        /// The try.
        uuid: Uuid,
        /// The version that it claims to be dead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prev: Option<Prev>,
        /// `ok`, `held`, `spent`, `error`, `fatal` or `unknown`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
        /// The token that the record shows, with `ok`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
        /// How many tokens the grant carries up to that one, if more than one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<u8>,
    },
    /// As [`What::Acquire`].
    Renew {
        /// Numbers the calls of a process.
        attempt: u64,
        /// The term.
        uuid: Uuid,
        /// The number of the renewal.
        n: u64,
        /// `ok`, `lost`, `error`, `fatal` or `unknown`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
    },
    /// As [`What::Acquire`].
    Release {
        /// Numbers the calls of a process.
        attempt: u64,
        /// The term.
        uuid: Uuid,
        /// `ok`, `lost`, `error`, `fatal` or `unknown`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
    },
    /// As [`What::Acquire`].
    Read {
        /// Numbers the calls of a process.
        attempt: u64,
        /// `ok`, `error`, `fatal` or `unknown`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
    },

    /// The store applied a write: the truth, which only a store that logs its commits can report.
    Commit(Commit),

    /// A guarded resource decided on a write. In the order of its decisions.
    Write {
        /// The resource.
        resource: Arc<str>,
        /// It checks tokens.
        fenced: bool,
        /// The writer's token.
        token: u64,
        /// The write was applied; otherwise it was refused and changed nothing.
        accepted: bool,
        /// The value that the writer had read before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        read: Option<u64>,
        /// The value it wrote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<u64>,
    },

    /// A fault was injected on purpose: in the line's process, or everywhere if that is empty, and for the line's lock,
    /// or for all if that is empty. A process whose name ends with `#` stands for all its lives: `worker-1#` for
    /// `worker-1` and `worker-1#2`.
    Fault {
        /// The kind of fault. The checker knows [`KILL`], [`PAUSE`], [`STALL`] and [`AFTERMATH`]; of the others it
        /// knows only that something was wrong from `from` to `to`.
        kind: Arc<str>,
        /// When it began.
        from: Micros,
        /// When it ended; `None` as long as it lasts. A later line with the same kind, process and `from` sets it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Micros>,
        /// The invariants that this fault breaks by design, as documented: a store's clock that jumps forward, for
        /// example, breaks I1 and I2. Violations found while it lasts are counted separately.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        excuses: Vec<Invariant>,
    },
}

impl Line {
    /// A line of a process about a lock.
    #[must_use]
    pub fn new(t: Micros, process: &str, name: &str, what: What) -> Self {
        Self {
            t,
            process: process.into(),
            name: name.into(),
            what,
        }
    }

    /// The term it is about.
    #[must_use]
    pub const fn uuid(&self) -> Option<Uuid> {
        match &self.what {
            What::Try { uuid, .. }
            | What::Grant { uuid, .. }
            | What::Keep { uuid, .. }
            | What::Credit { uuid, .. }
            | What::End { uuid, .. }
            | What::Told { uuid, .. }
            | What::ReleaseBegan { uuid, .. }
            | What::ReleaseEnded { uuid, .. }
            | What::Look { uuid, .. }
            | What::Acquire { uuid, .. }
            | What::Renew { uuid, .. }
            | What::Release { uuid, .. }
            | What::Commit(Commit { uuid, .. }) => Some(*uuid),
            What::AskEnd { uuid, .. } => *uuid,
            What::Header(_)
            | What::Start { .. }
            | What::Ask { .. }
            | What::Read { .. }
            | What::Write { .. }
            | What::Fault { .. } => None,
        }
    }
}

impl fmt::Display for Line {
    /// The line as it stands in a file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// A span in microseconds, rounded down: 584,000 years fit, more is as good as forever.
pub(crate) fn micros(span: Duration) -> Micros {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

fn nothing() -> Arc<str> {
    Arc::from("")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_empty(text: &str) -> bool {
    text.is_empty()
}
