//! What one process shares over one provider. Names, durations and terms belong to others.

use std::{fmt, sync::Arc};

use crate::{
    Clock, Provider,
    events::Recording,
    provider::Discipline,
    store::{Keeper, Observations, Store},
    testing::Recorder,
    time::Entropy,
};

/// One process's side of one provider: the queues of its waiters, what it has observed, its own
/// retired tries, and the hints that it listens to.
///
/// Most programs never meet it: `.provider(p.clone())` finds the client that the clones of `p`
/// share. It is worth a name in two cases: to [`close`](Client::close) it before the program ends,
/// and to share one client over a provider that has no [`Sharing`](crate::provider::Sharing). Cloning is cheap
/// and shares.
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Store>);

impl Client {
    /// The client that all clones of this provider share, made if there is none.
    #[must_use]
    pub fn new(provider: impl Provider) -> Self {
        let provider: Arc<dyn Provider> = Arc::new(provider);
        Self::of_clones(&provider, Clock::system(), Entropy::System)
    }

    /// A client of its own that takes elapsed time from `clock`: for tests. It does not meet the
    /// clones of its provider.
    #[must_use]
    pub fn with_clock(provider: impl Provider, clock: Clock) -> Self {
        Self(Store::new(Arc::new(provider), clock, Entropy::System))
    }

    /// The one in the provider's slot, unless it was closed. Borrows the provider, which is so dropped without
    /// the slot's lock where it is not needed.
    fn of_clones(provider: &Arc<dyn Provider>, clock: Clock, entropy: Entropy) -> Self {
        let sharing = provider.sharing();
        let make = || Store::new(Arc::clone(provider), clock, entropy);
        let usable = |store: &Store| !store.is_closed();
        Self(match sharing {
            Some(sharing) => sharing.get_or_make(usable, make),
            None => make(),
        })
    }

    /// Keeps what this client sees of held locks in a place that outlives it, for the processes of this host that come
    /// after it: `ObservationFolder` of the crate `dlock-stores` is one on a local disk. Programs that ask once and end
    /// (`cron` with `try_acquire`, functions that are started anew) need it on stores whose clock decides nothing
    /// ([`Discipline::Observer`]): there the lock of a dead holder is taken by a contender that has seen it unchanged
    /// for its duration, and without such a place each process takes what it has seen with it. On other stores nothing
    /// is kept, and nothing is needed. The first place stays.
    ///
    /// - **When it is asked**: when an acquire was refused or a read showed a holder, never before a grant. Each version
    ///   that is seen for the first time is stored.
    /// - **What it is worth**: it decides nothing by itself, since the store takes the record only if
    ///   it still is the version that was seen (A6). A reboot makes it worthless, and damaged or
    ///   foreign texts count for nothing. Without an answer within a sixth of the lease,
    ///   at most a second, or without one at all, the client continues as if it had no such place, and says
    ///   so with a warning of the event `observation_not_kept`.
    ///
    /// Linux only: other systems do not tell one boot from another, so nothing is kept there.
    #[must_use]
    pub fn observations(self, place: impl Observations) -> Self {
        let observes = self.0.provider.capabilities().discipline == Discipline::Observer;
        if observes {
            self.0.observations.get_or_init(|| Keeper::new(place));
        }
        self
    }

    /// Emits the events of this client to a recorder from now on, for tests that check them afterwards; a call that
    /// began before it ends with the number 0. The first recorder stays; without one nothing is emitted and nothing is spent.
    #[must_use]
    pub fn recorded(self, recorder: Arc<dyn Recorder>) -> Self {
        self.0.recording.get_or_init(|| Recording::new(recorder));
        self
    }

    /// What the durations of its locks are measured by, for layers with time limits of their own.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Ends the client: waiting and later acquires fail with [`Error::Closed`](crate::Error::Closed),
    /// and everything that is under way to the store (tries, and the releases of leases that were
    /// dropped) runs to its end. Returns how many leases are
    /// still in somebody's hands: they stay valid, are renewed as before, and are released by their own handles.
    ///
    /// Call it before the runtime shuts down, else a dropped lease's release may be cut off and
    /// others wait for the lease to expire. It takes at most about one lease duration, when the
    /// store does not answer.
    ///
    /// # Cancel safety
    /// The client is closed from the first poll on; dropping the future only stops the waiting.
    pub async fn close(&self) -> usize {
        self.0.close();
        self.0.all_idle().await;
        self.0.names.live()
    }
}

/// A client whose uuids and jitter come from a seed, so that a simulation can be repeated.
/// **Never outside one**: two processes with one seed draw the same identities, and the store
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

/// What [`DLockBuilder`](crate::DLockBuilder)'s `provider` takes: a provider, an
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
