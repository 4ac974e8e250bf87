//! The interface that the author of a provider implements: how to start the store, and how to make a provider on it.

use std::{future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Clock, Name, Provider,
    provider::{Admin, Capabilities},
};

use crate::answers::Answers;

/// A store to test, and how to make providers on it. The [crate's page](crate) has a complete example.
///
/// All cases of one test binary share one fixture and one runtime (unless it is [`PAUSED`](Self::PAUSED)); each case
/// uses its own names.
pub trait Fixture: Sized + Send + Sync + 'static {
    /// The provider under test.
    type Provider: Provider + Clone;

    /// The capabilities that the provider must report. Its discipline decides which answers the cases expect.
    const CAPABILITIES: Capabilities;

    /// The lease of cases that wait for its end: at least 200 ms, and longer than any call takes. The shorter the
    /// lease, the faster the suite. A case that misses a bound of time with it is repeated with three times the lease
    /// ([details](crate#too-slow-and-wrong)).
    const LEASE: Duration = Duration::from_millis(500);

    /// How long one case may take on any machine; a case that takes longer counts as hung, and fails by name.
    const LIMIT: Duration = Duration::from_secs(300);

    /// How many calls in a hundred may fail with an error other than [`Fatal`](dlock_core::ErrorKind::Fatal). The cases
    /// repeat such a call, up to 16 attempts in all. The default allows none: allow a few for a store that refuses
    /// calls now and then (throttling, an exhausted pool), and for every store over `dlock-cas`, whose calls give up
    /// after losing three writes to faster writers. With a high value, a provider that often leaves calls unanswered
    /// would pass, although it is of no use.
    const UNANSWERED: u32 = 0;

    /// How many bytes a name may have in addition to the provider's prefix and separator.
    const NAME_BYTES: usize = Name::MAX_BYTES;

    /// The most bytes that the future of an acquire, a renewal or a release may have. Each call allocates one, and
    /// allocators are slow above a kilobyte: a branch that hardly ever runs is boxed where it makes the future larger.
    const FUTURE_BYTES: usize = 1280;

    /// Whether a grant carries as many tokens as the [request](dlock_core::provider::Acquire::tokens) asks for. If so,
    /// the cases require it; otherwise they accept a single token as well.
    const BLOCKS: bool = false;

    /// Runs each case in paused virtual time, on its own fixture. Only for stores inside this process that take all
    /// their time from tokio: no socket, no thread, no system clock.
    const PAUSED: bool = false;

    /// Starts the store. If something is missing, panic and say what it is; the case then fails.
    fn start() -> impl Future<Output = Self> + Send;

    /// A fresh provider on the store, not a clone of an earlier one.
    fn provider(&self) -> impl Future<Output = Self::Provider> + Send;

    /// The clock of the clients that cases make on the provider.
    #[must_use]
    fn clock() -> Clock {
        if Self::PAUSED {
            Clock::tokio(1.0)
        } else {
            Clock::system()
        }
    }

    /// The provider's [`Admin`] side: `Some(Arc::new(provider.clone()))`. If it has none, leave out the groups `admin`
    /// and `purge`.
    #[must_use]
    fn admin(_provider: &Self::Provider) -> Option<Arc<dyn Admin>> {
        None
    }

    /// A provider on the same store that prefixes its names with this. If it supports no prefix, leave out the group
    /// `prefix`.
    fn prefixed(&self, _prefix: &str) -> impl Future<Output = Option<Self::Provider>> + Send {
        async { None }
    }

    /// Moves the expiry of a stored record into the past, bypassing the provider, and changes nothing else of it.
    /// Returns whether that was possible; if it is not, leave out the group `purge`.
    fn age(&self, _name: &Name, _by: Duration) -> impl Future<Output = bool> + Send {
        async { false }
    }
}

/// A fixture without its type, so that the cases are compiled once.
#[async_trait]
#[doc(hidden)]
pub trait Erased: Send + Sync {
    fn capabilities(&self) -> Capabilities;
    fn lease(&self) -> Duration;
    fn limit(&self) -> Duration;
    fn name_bytes(&self) -> usize;
    fn future_bytes(&self) -> usize;
    fn blocks(&self) -> bool;
    fn paused(&self) -> bool;
    fn clock(&self) -> Clock;
    /// The counts of its calls and answers so far.
    fn answers(&self) -> Arc<Answers>;
    /// `count` clones of one fresh provider.
    async fn clones(&self, count: usize) -> Vec<Arc<dyn Provider>>;
    async fn admin(&self) -> Option<Arc<dyn Admin>>;
    async fn prefixed(&self, prefix: &str) -> Option<Arc<dyn Provider>>;
    async fn age(&self, name: &Name, by: Duration) -> bool;
}

pub(crate) struct Erase<F> {
    fixture: F,
    answers: Arc<Answers>,
}

impl<F: Fixture> Erase<F> {
    pub(crate) fn new(fixture: F) -> Self {
        Self {
            fixture,
            answers: Arc::new(Answers::new(F::UNANSWERED)),
        }
    }
}

#[async_trait]
impl<F: Fixture> Erased for Erase<F> {
    fn capabilities(&self) -> Capabilities {
        F::CAPABILITIES
    }

    fn lease(&self) -> Duration {
        F::LEASE
    }

    fn limit(&self) -> Duration {
        F::LIMIT
    }

    fn name_bytes(&self) -> usize {
        F::NAME_BYTES
    }

    fn future_bytes(&self) -> usize {
        F::FUTURE_BYTES
    }

    fn blocks(&self) -> bool {
        F::BLOCKS
    }

    fn paused(&self) -> bool {
        F::PAUSED
    }

    fn clock(&self) -> Clock {
        F::clock()
    }

    fn answers(&self) -> Arc<Answers> {
        Arc::clone(&self.answers)
    }

    async fn clones(&self, count: usize) -> Vec<Arc<dyn Provider>> {
        let provider = self.fixture.provider().await;
        (0..count)
            .map(|_| Arc::new(provider.clone()) as Arc<dyn Provider>)
            .collect()
    }

    async fn admin(&self) -> Option<Arc<dyn Admin>> {
        F::admin(&self.fixture.provider().await)
    }

    async fn prefixed(&self, prefix: &str) -> Option<Arc<dyn Provider>> {
        self.fixture
            .prefixed(prefix)
            .await
            .map(|provider| Arc::new(provider) as Arc<dyn Provider>)
    }

    async fn age(&self, name: &Name, by: Duration) -> bool {
        self.fixture.age(name, by).await
    }
}
