//! A call that never waits for anything, and so uses up the budget that the runtime gives a task for a turn, ends at
//! its limit like any other.

use std::time::Duration;

use async_trait::async_trait;
use dlock_core::{
    DLock, Error, ErrorKind, Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Release, ReleaseOutcome, Renew,
        RenewOutcome,
    },
};
use tokio::{task::consume_budget, time::timeout};

struct AlwaysReady;

impl AlwaysReady {
    async fn turn<T>(&self) -> T {
        loop {
            consume_budget().await;
        }
    }
}

#[async_trait]
impl Provider for AlwaysReady {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("always ready", Discipline::StoreClock)
    }

    async fn acquire(&self, _: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.turn().await
    }

    async fn renew(&self, _: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.turn().await
    }

    async fn release(&self, _: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.turn().await
    }

    async fn read(&self, _: &Name) -> Result<Option<Record>, ProviderError> {
        self.turn().await
    }
}

#[tokio::test]
async fn call_that_is_always_ready_ends_at_its_limit() {
    let lock = DLock::builder()
        .name("door")
        .duration(Duration::from_millis(300))
        .provider(AlwaysReady)
        .build()
        .unwrap();
    // On this task alone, so that no other task's turn ends it.
    let tried = timeout(Duration::from_secs(20), lock.try_acquire());
    let error = tried.await.expect("the call does not end").unwrap_err();
    assert!(
        matches!(&error, Error::Provider(error) if error.kind() == ErrorKind::Unknown),
        "{error:?}"
    );
}
