//! The means of a case: fresh names, providers, leases, and time.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Clock, Name, Provider,
    provider::{Acquire, Admin, Capabilities, Discipline},
};
use uuid::Uuid;

use crate::{fixture::Erased, subject::Subject};

/// Long enough to outlast any case.
const LONG: Duration = Duration::from_secs(600);

/// The workbench of one round of a case. Names are fresh, so cases never collide on a shared store.
#[derive(Clone)]
pub struct Bench {
    fixture: Arc<dyn Erased>,
    scope: String,
    lease: Duration,
}

impl Bench {
    pub(crate) fn new(fixture: Arc<dyn Erased>, case: &str, lease: Duration) -> Self {
        Self {
            fixture,
            lease,
            scope: format!("{case}/{}", Uuid::new_v4().simple()),
        }
    }

    /// The capabilities that the provider must report.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.fixture.capabilities()
    }

    /// Whether the store's clock ends leases.
    #[must_use]
    pub fn store_clock(&self) -> bool {
        self.capabilities().discipline == Discipline::StoreClock
    }

    /// The clock for clients.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.fixture.clock()
    }

    /// A fresh name; within this round, the same label returns the same name.
    ///
    /// # Panics
    /// If the label makes it too long for a name.
    #[must_use]
    pub fn name(&self, label: &str) -> Name {
        Name::new(format!("{}/{label}", self.scope))
            .unwrap_or_else(|error| panic!("{label:?}: {error}"))
    }

    /// Whether other cases run on the same store.
    #[must_use]
    pub fn shared(&self) -> bool {
        !self.fixture.paused()
    }

    /// How many bytes a name may have on this fixture.
    #[must_use]
    pub fn name_bytes(&self) -> usize {
        self.fixture.name_bytes()
    }

    /// How many bytes the future of a call may have on this fixture.
    #[must_use]
    pub fn future_bytes(&self) -> usize {
        self.fixture.future_bytes()
    }

    /// Whether a grant carries as many tokens as the request asks for.
    #[must_use]
    pub fn blocks(&self) -> bool {
        self.fixture.blocks()
    }

    /// A fresh provider on the store.
    pub async fn provider(&self) -> Arc<dyn Provider> {
        self.clones(1).await.remove(0)
    }

    /// Clones of one fresh provider.
    pub async fn clones(&self, count: usize) -> Vec<Arc<dyn Provider>> {
        self.fixture.clones(count).await
    }

    /// A fresh provider, to be called with expectations.
    pub async fn subject(&self) -> Subject {
        self.asked(self.provider().await)
    }

    /// A provider that prefixes its names with this (group `prefix`).
    ///
    /// # Panics
    /// If the fixture has none.
    pub async fn prefixed(&self, prefix: &str) -> Subject {
        let Some(provider) = self.fixture.prefixed(prefix).await else {
            panic!("the fixture makes no provider with a prefix: leave the group `prefix` out")
        };
        self.asked(provider)
    }

    /// This provider, to be called with expectations.
    pub(crate) fn asked(&self, provider: Arc<dyn Provider>) -> Subject {
        let discipline = self.capabilities().discipline;
        Subject::new(provider, discipline, self.fixture.answers())
    }

    /// A fresh provider's admin side (groups `admin` and `purge`).
    ///
    /// # Panics
    /// If the fixture has none.
    pub async fn admin(&self) -> Arc<dyn Admin> {
        let Some(admin) = self.fixture.admin().await else {
            panic!("the fixture has no admin side: leave the group `admin` out")
        };
        admin
    }

    /// Moves the expiry of a stored record into the past (group `purge`).
    ///
    /// # Panics
    /// If the fixture cannot.
    pub async fn age(&self, name: &Name, by: Duration) {
        assert!(
            self.fixture.age(name, by).await,
            "the fixture ages no records: leave the group `purge` out"
        );
    }

    /// A try whose lease outlasts the case.
    #[must_use]
    pub fn term(&self, name: &Name) -> Acquire {
        self.term_of(name, LONG)
    }

    /// A try with this lease.
    #[must_use]
    pub fn term_of(&self, name: &Name, lease: Duration) -> Acquire {
        Acquire::new(name.clone(), Uuid::new_v4(), lease).owner("a contender")
    }

    /// The lease for cases that wait for its end: the fixture's, or a longer one where the case was too slow for that.
    #[must_use]
    pub const fn lease(&self) -> Duration {
        self.lease
    }

    /// Sleeps until a lease of this length that the store has just granted or renewed has ended on the store's clock.
    pub async fn outlast(&self, lease: Duration) {
        // In paused time exactly the lease: the comparison at the boundary is part of the contract.
        let slack = if self.fixture.paused() {
            Duration::ZERO
        } else {
            Duration::from_millis(20)
        };
        tokio::time::sleep(lease + slack).await;
    }
}

impl std::fmt::Debug for Bench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench")
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}
