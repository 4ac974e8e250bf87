//! The state that one process shares over one provider. Names, durations and terms are kept elsewhere.

use std::{fmt, sync::Arc};

use crate::{
    Clock, Provider,
    events::Recording,
    provider::Discipline,
    store::{Keeper, Observations, Store},
    testing::Recorder,
    time::Entropy,
};

/// One process's side of one provider: the queues of its waiters, its observations, its own retired tries, and the
/// hints that it listens to.
///
/// Most programs never use it directly: `.provider(p.clone())` finds the client that the clones of `p` share. Two
/// cases need it: to [`close`](Client::close) it before the program ends, and to share one client over a provider
/// that has no [`Sharing`](crate::provider::Sharing). Cloning is cheap and shares the client.
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Store>);

impl Client {
    /// The client that all clones of this provider share, made if it does not exist yet.
    #[must_use]
    pub fn new(provider: impl Provider) -> Self {
        let provider: Arc<dyn Provider> = Arc::new(provider);
        Self::of_clones(&provider, Clock::system(), Entropy::System)
    }

    /// A separate client that takes elapsed time from `clock`: for tests. It is not shared with the clones of its
    /// provider.
    #[must_use]
    pub fn with_clock(provider: impl Provider, clock: Clock) -> Self {
        Self(Store::new(Arc::new(provider), clock, Entropy::System))
    }

    /// The client in the provider's slot, unless it was closed. Borrows the provider, so that a provider that is not
    /// needed is dropped without the slot's lock.
    fn of_clones(provider: &Arc<dyn Provider>, clock: Clock, entropy: Entropy) -> Self {
        let sharing = provider.sharing();
        let make = || Store::new(Arc::clone(provider), clock, entropy);
        let usable = |store: &Store| !store.is_closed();
        Self(match sharing {
            Some(sharing) => sharing.get_or_make(usable, make),
            None => make(),
        })
    }

    /// Keeps what this client sees of held locks in a place that outlives it, for later processes of this host:
    /// `ObservationFolder` of the crate `dlock-stores` is one on a local disk. Programs that try once and exit
    /// (`cron` with `try_acquire`, functions that are started anew) need it on stores whose clock decides nothing
    /// ([`Discipline::Observer`]): there a contender takes the lock of a dead holder once it has seen the lock
    /// unchanged for its duration, and without such a place each process loses what it has seen when it exits. On
    /// other stores nothing is kept, and nothing is needed. The first place stays.
    ///
    /// - **When it is called**: after an acquire was refused or a read showed a holder, never before a grant. Each
    ///   version that is seen for the first time is stored.
    /// - **How far it is trusted**: it decides nothing alone, since the store lets the record be taken only if it is
    ///   still the version that was seen (A6). A reboot makes it worthless, and damaged or foreign texts count for
    ///   nothing. If it does not answer within a sixth of the lease, at most a second, or fails, the client continues
    ///   as if it had no such place, and logs the warning `observation_not_kept`.
    ///
    /// Linux only: other systems do not distinguish one boot from another, so nothing is kept there.
    #[must_use]
    pub fn observations(self, place: impl Observations) -> Self {
        let observes = self.0.provider.capabilities().discipline == Discipline::Observer;
        if observes {
            self.0.observations.get_or_init(|| Keeper::new(place));
        }
        self
    }

    /// Emits the events of this client to a recorder from now on, for tests that check them afterwards. A call that
    /// began before this ends with the number 0. The first recorder stays; without one, nothing is emitted, at no
    /// cost.
    #[must_use]
    pub fn recorded(self, recorder: Arc<dyn Recorder>) -> Self {
        self.0.recording.get_or_init(|| Recording::new(recorder));
        self
    }

    /// The clock that measures the durations of its locks, for layers with time limits of their own.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Closes the client: waiting and later acquires fail with [`Error::Closed`](crate::Error::Closed), and
    /// everything in flight to the store (tries, and the releases of leases that were dropped) runs to its end.
    /// Returns how many leases callers still hold: they stay valid, are renewed as before, and are released by their
    /// own handles.
    ///
    /// Call it before the runtime shuts down. Otherwise a dropped lease's release may be cut off, and others wait for
    /// the lease to expire. If the store does not answer, it takes about one lease duration at most.
    ///
    /// # Cancel safety
    /// The client is closed from the first poll on; dropping the future only stops the wait.
    pub async fn close(&self) -> usize {
        self.0.close();
        self.0.all_idle().await;
        self.0.names.live()
    }
}

/// A client whose uuids and jitter come from a seed, so that a simulation can be repeated.
/// **Never outside a simulation**: two processes with one seed draw the same identities, and the store
/// grants both. If the provider has a [`Sharing`](crate::provider::Sharing) without a client, its clones
/// find this one.
#[must_use]
pub fn seeded_client(provider: impl Provider, clock: Clock, seed: u64) -> Client {
    let provider: Arc<dyn Provider> = Arc::new(provider);
    Client::of_clones(&provider, clock, Entropy::seeded(seed))
}

/// Whether they are clones of one client.
impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Client {}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("backend", &self.0.backend)
            .finish_non_exhaustive()
    }
}

/// The types that the `provider` of [`DLockBuilder`](crate::DLockBuilder) accepts: a provider, an
/// `Arc<dyn Provider>`, or a [`Client`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a `Provider` nor a `Client`",
    label = "not a provider",
    note = "pass a provider by value (clones of one provider share a client), an `Arc<dyn Provider>` or a `Client`"
)]
pub trait IntoClient {
    /// The client to use.
    fn into_client(self) -> Client;
}

impl<P: Provider> IntoClient for P {
    fn into_client(self) -> Client {
        Client::new(self)
    }
}

impl IntoClient for Client {
    fn into_client(self) -> Client {
        self
    }
}

impl IntoClient for &Client {
    fn into_client(self) -> Client {
        self.clone()
    }
}
