//! The abilities of a provider's store: what the frontend and the conformance suite may expect of it.

/// How it is decided that a lease has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the protocol knows these two; a third would be another protocol"
)]
pub enum Discipline {
    /// The store's own clock, read inside the statement that decides. A newcomer can take an
    /// expired lock at once.
    StoreClock,
    /// Not the store's clock: a contender that saw one version unchanged for the record's duration on its own
    /// monotonic clock claims that in [`Acquire::prev`](crate::provider::Acquire::prev).
    Observer,
}

/// The records that survive when the store's process is killed and started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// None: records live in memory.
    Volatile,
    /// Every acknowledged acquire and renewal.
    Durable,
}

/// The capabilities that a provider declares. Constant for a provider's type and configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Capabilities {
    /// Short name of the store, for logs: `"postgres"`.
    pub backend: &'static str,
    /// How it is decided that a lease has ended.
    pub discipline: Discipline,
    /// [`Provider::watch`](crate::Provider::watch) yields wake-ups.
    pub watch: bool,
    /// [`Provider::renew_many`](crate::Provider::renew_many) takes fewer round trips than one per item.
    pub batch: bool,
    /// The records that survive a restart of the store.
    pub durability: Durability,
    /// [`Provider::read`](crate::Provider::read) costs less than a refused acquire: waiters read before they try
    /// again (O3).
    pub cheap_reads: bool,
    /// [`Provider::release`](crate::Provider::release) closes names (B4). The suite requires it of every provider. A
    /// provider that was written before closings existed does not declare it, and no lock with `at_least` can be
    /// built on it.
    pub closing: bool,
    /// A refused [`acquire`](crate::Provider::acquire) leaves a mark if the request has one, and the answer to a
    /// release says whether its term was marked (N1 to N3).
    pub marks: bool,
}

impl Capabilities {
    /// No wake-ups, no batches, no cheap reads, no closings, no marks, durable.
    #[must_use]
    pub const fn new(backend: &'static str, discipline: Discipline) -> Self {
        Self {
            backend,
            discipline,
            watch: false,
            batch: false,
            durability: Durability::Durable,
            cheap_reads: false,
            closing: false,
            marks: false,
        }
    }

    /// Sets [`Capabilities::watch`].
    #[must_use]
    pub const fn watch(mut self, watch: bool) -> Self {
        self.watch = watch;
        self
    }

    /// Sets [`Capabilities::batch`].
    #[must_use]
    pub const fn batch(mut self, batch: bool) -> Self {
        self.batch = batch;
        self
    }

    /// Sets [`Capabilities::durability`].
    #[must_use]
    pub const fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets [`Capabilities::cheap_reads`].
    #[must_use]
    pub const fn cheap_reads(mut self, cheap_reads: bool) -> Self {
        self.cheap_reads = cheap_reads;
        self
    }

    /// Sets [`Capabilities::closing`].
    #[must_use]
    pub const fn closing(mut self, closing: bool) -> Self {
        self.closing = closing;
        self
    }

    /// Sets [`Capabilities::marks`].
    #[must_use]
    pub const fn marks(mut self, marks: bool) -> Self {
        self.marks = marks;
        self
    }
}
