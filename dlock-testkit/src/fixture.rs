//! What a provider's author writes: how to start the store, and how to make a provider on it.

use std::{future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Clock, Name, Provider,
    provider::{Admin, Capabilities},
};

use crate::answers::Answers;

/// A store to test, and how to make providers on it. See the [crate's page](crate) for a whole one.
///
/// All cases of one test binary share one fixture and one runtime (unless it is
/// [`PAUSED`](Self::PAUSED)); each case uses names of its own.
pub trait Fixture: Sized + Send + Sync + 'static {
    /// The provider under test.
    type Provider: Provider + Clone;

    /// What the provider must say of itself. The discipline decides what the cases expect.
    const CAPABILITIES: Capabilities;

    /// The lease of cases that wait for its end: at least 200 ms, and longer than any call takes.
    /// The shorter, the faster the suite. A case that misses a bound of time with it is played again with
    /// three times the lease ([when](crate#too-slow-and-wrong)).
    const LEASE: Duration = Duration::from_millis(500);

    /// How long one case may take on whatever machine; one that takes longer hangs, and fails by name.
    const LIMIT: Duration = Duration::from_secs(300);

    /// Of a hundred calls, so many may fail with anything but [`Fatal`](dlock_core::ErrorKind::Fatal). The cases
    /// make such a call again, up to three times. None is the default: ask for a few on a store that refuses
    /// calls now and then (throttling, a pool that runs dry), and on every store over `dlock-cas`, whose calls give up
    /// after three writes that others were quicker than. A provider whose calls are often left unanswered
    /// would pass, and be of no use.
    const UNANSWERED: u32 = 0;

    /// How many bytes of a name fit beside the provider's prefix and separator.
    const NAME_BYTES: usize = Name::MAX_BYTES;

    /// Whether a grant brings as many tokens as the [request](dlock_core::provider::Acquire::tokens) asks for. The
    /// cases expect that then; otherwise one token is right as well.
    const BLOCKS: bool = false;

    /// Runs each case in paused virtual time, on a fixture of its own. Only for stores in this
    /// process that take all their time from tokio: no socket, no thread, no system clock.
    const PAUSED: bool = false;

    /// Starts the store. A panic says what is missing; the case then fails.
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

    /// The provider's [`Admin`] side: `Some(Arc::new(provider.clone()))`. Without it leave the
    /// groups `admin` and `purge` out.
    #[must_use]
    fn admin(_provider: &Self::Provider) -> Option<Arc<dyn Admin>> {
        None
    }

    /// A provider on the same store whose names carry this prefix in front. Without it leave the
    /// group `prefix` out.
    fn prefixed(&self, _prefix: &str) -> impl Future<Output = Option<Self::Provider>> + Send {
        async { None }
    }

    /// Moves the expiry of a stored record into the past, behind the provider's back, and nothing
    /// else of it; whether that was possible. Without it leave the group `purge` out.
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
    fn blocks(&self) -> bool;
    fn paused(&self) -> bool;
    fn clock(&self) -> Clock;
    /// What its calls came to so far.
    fn answers(&self) -> Arc<Answers>;
    /// So many clones of one fresh provider.
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
