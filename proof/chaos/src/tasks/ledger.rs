//! The store's own record of the tasks that have a lane or a queue with a limit: a ledger next to their table, which
//! triggers write in the transactions that change a task. So it shows the state itself, not what a client heard of it.

/// A task as one change has left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its place in the ledger: two changes of which one depends on the other are in order.
    pub(crate) place: u64,
    pub(crate) task: i64,
    pub(crate) queue: String,
    pub(crate) lane: Option<String>,
    pub(crate) priority: u8,
    /// In microseconds of Unix time.
    pub(crate) run_at: i64,
    /// The token of its newest claim, 0 if it has had none.
    pub(crate) token: u64,
    /// Neither its worker nor an ending has given it back.
    pub(crate) held: bool,
    /// When the lease ends, and how long it was when it was written, in nanoseconds of the store's clock for leases.
    pub(crate) expiry: i64,
    pub(crate) duration: i64,
    /// The task has ended.
    pub(crate) gone: bool,
    /// An instant that is certainly before the change looked for due tasks, in microseconds of Unix time.
    pub(crate) due: i64,
    pub(crate) seen: Seen,
}

/// The transactions that a change has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its own.
    pub(crate) own: u64,
    /// All smaller ones,
    pub(crate) below: u64,
    /// except these.
    pub(crate) open: Vec<u64>,
}

impl Entry {
    /// When the lease began, or was renewed.
    pub(crate) const fn granted(&self) -> i64 {
        self.expiry.saturating_sub(self.duration)
    }

    /// Whether this change begins a claim of a task whose last entry is `before`.
    pub(crate) const fn begins(&self, before: &Self) -> bool {
        self.held && !self.gone && (!before.held || before.token != self.token)
    }

    /// Whether a claim holds the task at an instant of the store's clock.
    pub(crate) const fn is_valid_at(&self, instant: i64) -> bool {
        self.held && !self.gone && self.expiry > instant
    }

    /// Whether the transaction of this entry has seen the other entry.
    pub(crate) fn sees(&self, other: &Self) -> bool {
        if other.seen.own == self.seen.own {
            return other.place < self.place;
        }
        other.seen.own < self.seen.below && !self.seen.open.contains(&other.seen.own)
    }
}
