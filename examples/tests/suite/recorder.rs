//! The lines that the recorder of `diagrams` writes.

use std::{future::pending, time::Duration};

use async_trait::async_trait;
use dlock::{
    DLock, Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Release, ReleaseOutcome, Renew,
        RenewOutcome,
    },
};
use dlock_examples::recorder::{Recorder, Script};

/// A store that never answers.
struct Silent;

#[async_trait]
impl Provider for Silent {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("silent", Discipline::StoreClock)
    }

    async fn acquire(&self, _: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        pending().await
    }

    async fn renew(&self, _: &Renew) -> Result<RenewOutcome, ProviderError> {
        pending().await
    }

    async fn release(&self, _: &Release) -> Result<ReleaseOutcome, ProviderError> {
        pending().await
    }

    async fn read(&self, _: &Name) -> Result<Option<Record>, ProviderError> {
        pending().await
    }
}

/// The client drops a call that takes too long and repeats it, so a request may have no answer.
#[tokio::test]
async fn question_that_the_client_gave_up_is_written_down_so() {
    let script = Script::default();
    let lock = DLock::builder()
        .name("silent")
        .duration(Duration::from_millis(300))
        .give_up_after(Duration::from_millis(120))
        .provider(Recorder::new(Silent, "A", &script))
        .build()
        .unwrap();
    lock.acquire().await.unwrap_err();
    lock.client().close().await;
    let lines = script.lines();
    let asked = "A ->> Provider: Acquire (prev_uuid=none, new_uuid=A1, duration=300ms)";
    let unheard = "Provider ->> A: No answer (the client gave up)";
    assert_eq!(lines[..2], [asked, unheard], "{lines:#?}");
}
