//! A provider for unit tests: it gives the answers that it was set up with, otherwise grants and releases everything,
//! and keeps the requests that it got.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use uuid::Uuid;

use crate::{
    Client, Clock, DLock, FencingToken, Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Release, ReleaseOutcome, Renew,
        RenewOutcome,
    },
};

/// The lease of the locks here, and of the records.
pub(crate) const LEASE: Duration = Duration::from_secs(60);

pub(crate) const INSTANT: Duration = Duration::from_nanos(1);

/// Clones share their answers.
#[derive(Clone)]
pub(crate) struct Scripted {
    capabilities: Capabilities,
    script: Arc<Mutex<Script>>,
}

#[derive(Default)]
struct Script {
    acquires: VecDeque<Result<AcquireOutcome, ProviderError>>,
    releases: VecDeque<Result<ReleaseOutcome, ProviderError>>,
    acquired: Vec<Acquire>,
    released: Vec<Release>,
}

pub(crate) fn uuid(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

pub(crate) fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

/// A term of another client, with a token of the same number.
pub(crate) fn record(number: u64, owner: &str) -> Record {
    let (uuid, token) = (uuid(number.into()), token(number));
    Record::new(uuid, owner, SystemTime::UNIX_EPOCH, token, LEASE)
}

pub(crate) fn silence() -> ProviderError {
    ProviderError::unknown("nobody is there")
}

impl Scripted {
    pub(crate) fn new() -> Self {
        Self::with(Capabilities::new("scripted", Discipline::Observer))
    }

    /// A provider whose refusals leave marks.
    pub(crate) fn with_marks() -> Self {
        Self::with(Capabilities::new("scripted", Discipline::Observer).marks(true))
    }

    pub(crate) fn with(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            script: Arc::default(),
        }
    }

    /// A lock of its own client.
    pub(crate) fn lock(&self, clock: Clock) -> DLock {
        DLock::builder()
            .name("door")
            .provider(Client::with_clock(self.clone(), clock))
            .owner("we")
            .duration(LEASE)
            .build()
            .unwrap()
    }

    /// Answers an acquire with this, after the answers that were given before.
    pub(crate) fn acquire(&self, answer: Result<AcquireOutcome, ProviderError>) {
        self.script().acquires.push_back(answer);
    }

    /// Answers a release with this, after the answers that were given before.
    pub(crate) fn release(&self, answer: Result<ReleaseOutcome, ProviderError>) {
        self.script().releases.push_back(answer);
    }

    pub(crate) fn acquired(&self) -> Vec<Acquire> {
        self.script().acquired.clone()
    }

    pub(crate) fn released(&self) -> Vec<Release> {
        self.script().released.clone()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Provider for Scripted {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let mut script = self.script();
        script.acquired.push(request.clone());
        let granted = || Ok(AcquireOutcome::Acquired(token(1).into()));
        script.acquires.pop_front().unwrap_or_else(granted)
    }

    async fn renew(&self, _: &Renew) -> Result<RenewOutcome, ProviderError> {
        Ok(RenewOutcome::Renewed { asked: false })
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let mut script = self.script();
        script.released.push(request.clone());
        let released = || Ok(ReleaseOutcome::Released { wanted: false });
        script.releases.pop_front().unwrap_or_else(released)
    }

    async fn read(&self, _: &Name) -> Result<Option<Record>, ProviderError> {
        Ok(None)
    }
}
