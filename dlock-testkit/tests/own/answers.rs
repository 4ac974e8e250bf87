//! A provider that often leaves calls unanswered does not pass, unless its fixture allows that.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, Discipline, List, Page,
        Release, ReleaseOutcome, Renew, RenewOutcome, Revoke, RevokeOutcome,
    },
};
use dlock_testkit::{
    CASES, Fixture,
    memory::{MemoryProvider, MemoryStore},
    runner::{self, Shared},
};

use crate::suite::complains;

/// Executes every call, and answers one in four.
#[derive(Clone)]
struct Seldom {
    inner: MemoryProvider,
    calls: Arc<AtomicUsize>,
}

struct Busy<const UNANSWERED: u32>(MemoryStore);

impl<const UNANSWERED: u32> Fixture for Busy<UNANSWERED> {
    type Provider = Seldom;

    const CAPABILITIES: Capabilities = Capabilities::new("seldom", Discipline::StoreClock);
    const PAUSED: bool = true;
    const UNANSWERED: u32 = UNANSWERED;

    async fn start() -> Self {
        Self(MemoryStore::store_clock())
    }

    async fn provider(&self) -> Seldom {
        Seldom {
            inner: MemoryProvider::new(&self.0),
            calls: Arc::default(),
        }
    }

    fn admin(provider: &Seldom) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }

    async fn age(&self, name: &Name, by: Duration) -> bool {
        self.0.age(name, by)
    }
}

impl Seldom {
    fn answer<T>(&self, answer: T) -> Result<T, ProviderError> {
        if self.calls.fetch_add(1, Ordering::Relaxed) % 4 == 3 {
            return Ok(answer);
        }
        Err(ProviderError::unknown("three of four answers get lost"))
    }
}

#[async_trait]
impl Provider for Seldom {
    fn capabilities(&self) -> Capabilities {
        Busy::<0>::CAPABILITIES
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.answer(self.inner.acquire(request).await?)
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.answer(self.inner.renew(request).await?)
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.answer(self.inner.release(request).await?)
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.answer(self.inner.read(name).await?)
    }
}

#[async_trait]
impl Admin for Seldom {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        self.answer(self.inner.list(request).await?)
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        self.answer(self.inner.revoke(request).await?)
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        self.answer(self.inner.ask(request).await?)
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        self.answer(self.inner.purge(limit).await?)
    }
}

fn play<const UNANSWERED: u32>() {
    static SHARED: Shared = Shared::new();
    runner::run::<Busy<UNANSWERED>>(&SHARED, CASES, "token_grows_across_release");
}

#[test]
fn calls_without_an_answer_fail_a_case() {
    complains("1 of 1 calls of this fixture got no answer", play::<0>);
}

#[test]
fn fixture_gets_the_share_that_it_asks_for_and_no_more() {
    play::<100>();
    complains("of a hundred (UNANSWERED)", play::<2>);
}

#[test]
fn admin_side_and_what_a_fixture_offers_are_asked_again_as_well() {
    static SHARED: Shared = Shared::new();
    runner::groups_agree::<Busy<100>>(&SHARED, &["watch", "prefix", "sharing"]);
    let cases: Vec<_> = CASES.iter().filter(|case| case.module == "admin").collect();
    assert!(cases.len() > 5, "{cases:?}");
    for case in cases {
        runner::run::<Busy<100>>(&SHARED, CASES, case.name);
    }
}
