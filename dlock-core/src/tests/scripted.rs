//! A provider for unit tests: it answers what it is told to, grants and releases everything otherwise, and keeps
//! what it was asked.

use std::{
    collections::{BTreeMap, VecDeque},
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

/// Clones share what they answer.
#[derive(Clone)]
pub(crate) struct Scripted {
    capabilities: Capabilities,
    script: Arc<Mutex<Script>>,
}

#[derive(Default)]
struct Script {
    /// It answers no acquire.
    silent: bool,
    acquires: VecDeque<Result<AcquireOutcome, ProviderError>>,
    releases: VecDeque<Result<ReleaseOutcome, ProviderError>>,
    records: BTreeMap<Name, Record>,
    acquired: Vec<Acquire>,
    released: Vec<Release>,
    read: Vec<Name>,
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

    pub(crate) fn with(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            script: Arc::default(),
        }
    }

    /// A lock of a client of its own.
    pub(crate) fn lock(&self, clock: Clock) -> DLock {
        DLock::builder()
            .name("door")
            .provider(Client::with_clock(self.clone(), clock))
            .owner("we")
            .duration(LEASE)
            .build()
            .unwrap()
    }

    pub(crate) fn silent(&self, silent: bool) {
        self.script().silent = silent;
    }

    /// Answers an acquire so, after those that were given before.
    pub(crate) fn acquire(&self, answer: Result<AcquireOutcome, ProviderError>) {
        self.script().acquires.push_back(answer);
    }

    /// Answers a release so, after those that were given before.
    pub(crate) fn release(&self, answer: Result<ReleaseOutcome, ProviderError>) {
        self.script().releases.push_back(answer);
    }

    /// What a read of this name shows from now on.
    pub(crate) fn show(&self, name: &Name, record: Record) {
        self.script().records.insert(name.clone(), record);
    }

    pub(crate) fn acquired(&self) -> Vec<Acquire> {
        self.script().acquired.clone()
    }

    pub(crate) fn released(&self) -> Vec<Release> {
        self.script().released.clone()
    }

    /// How often this name was read.
    pub(crate) fn reads(&self, name: &Name) -> usize {
        let script = self.script();
        script.read.iter().filter(|read| *read == name).count()
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
        if script.silent {
            return Err(silence());
        }
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

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let mut script = self.script();
        script.read.push(name.clone());
        Ok(script.records.get(name).cloned())
    }
}
