//! A provider that writes down what passes through it. Wrapping a provider is how requests are
//! observed: nothing below this line knows that it is watched.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use dlock::{
    FencingToken, Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Version, Wakeups,
    },
};
use uuid::Uuid;

/// What was said, with short labels for uuids (`A1`: the first that A drew) and tokens (`T1`, `T2`).
#[derive(Clone, Default)]
pub(crate) struct Script {
    written: Arc<Mutex<Written>>,
    /// One exchange with the store at a time: a wake-up may be faster than the answer to the release
    /// that caused it, and a diagram reads better the other way round.
    exchange: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Written {
    lines: Vec<String>,
    uuids: HashMap<Uuid, String>,
    drawn: HashMap<&'static str, usize>,
    tokens: Vec<FencingToken>,
}

impl Script {
    /// Adds a line.
    pub(crate) fn write(&self, line: impl Into<String>) {
        self.with(|written| written.lines.push(line.into()));
    }

    /// The label of a token, by its rank among those seen.
    pub(crate) fn token(&self, token: FencingToken) -> String {
        self.with(|written| written.token(token))
    }

    /// Everything that was written.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.with(|written| written.lines.clone())
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Written) -> T) -> T {
        use_it(&mut self.written.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Written {
    fn uuid(&mut self, who: &'static str, uuid: Uuid) -> String {
        let drawn = &mut self.drawn;
        self.uuids
            .entry(uuid)
            .or_insert_with(|| {
                let count = drawn.entry(who).or_default();
                *count += 1;
                format!("{who}{count}")
            })
            .clone()
    }

    fn token(&mut self, token: FencingToken) -> String {
        let rank = self
            .tokens
            .iter()
            .position(|seen| *seen == token)
            .unwrap_or_else(|| {
                self.tokens.push(token);
                self.tokens.len() - 1
            });
        format!("T{}", rank + 1)
    }

    fn version(&mut self, who: &'static str, prev: Option<Version>) -> String {
        prev.map_or_else(|| "none".to_owned(), |version| self.uuid(who, version.uuid))
    }

    fn held(&mut self, who: &'static str, record: &Record) -> String {
        let uuid = self.uuid(who, record.uuid);
        format!("uuid={uuid}, duration={:?}", record.duration)
    }
}

/// A provider under observation, for one of the clients.
pub(crate) struct Recorder<P> {
    inner: P,
    who: &'static str,
    script: Script,
}

impl<P> Recorder<P> {
    pub(crate) fn new(inner: P, who: &'static str, script: &Script) -> Self {
        Self {
            inner,
            who,
            script: script.clone(),
        }
    }

    fn asks(&self, line: impl FnOnce(&mut Written) -> String) {
        self.script.with(|written| {
            let line = line(written);
            written
                .lines
                .push(format!("{} ->> Provider: {line}", self.who));
        });
    }

    fn hears(&self, line: impl FnOnce(&mut Written) -> String) {
        self.script.with(|written| {
            let line = line(written);
            written
                .lines
                .push(format!("Provider ->> {}: {line}", self.who));
        });
    }
}

#[async_trait]
impl<P: Provider> Provider for Recorder<P> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let who = self.who;
        let _exchange = self.script.exchange.lock().await;
        self.asks(|w| {
            let (prev, new) = (w.version(who, request.prev), w.uuid(who, request.new));
            format!(
                "Acquire (prev_uuid={prev}, new_uuid={new}, duration={:?})",
                request.duration
            )
        });
        let answer = self.inner.acquire(request).await;
        self.hears(|w| match &answer {
            Ok(AcquireOutcome::Acquired(tokens)) => {
                format!(
                    "Acquired (uuid={}, token={})",
                    w.uuid(who, request.new),
                    w.token(tokens.last())
                )
            }
            Ok(AcquireOutcome::Held(record)) => format!("Failure ({})", w.held(who, record)),
            Ok(AcquireOutcome::Spent) => "Spent".to_owned(),
            Err(error) => format!("no answer ({error})"),
        });
        answer
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let who = self.who;
        let _exchange = self.script.exchange.lock().await;
        self.asks(|w| {
            format!(
                "Renew (uuid={}, n={})",
                w.uuid(who, request.uuid),
                request.n
            )
        });
        let answer = self.inner.renew(request).await;
        self.hears(|_| match &answer {
            Ok(RenewOutcome::Renewed { .. }) => "Renewed".to_owned(),
            Ok(RenewOutcome::Lost(_)) => "Lost".to_owned(),
            Err(error) => format!("no answer ({error})"),
        });
        answer
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let who = self.who;
        let _exchange = self.script.exchange.lock().await;
        self.asks(|w| format!("Release (uuid={})", w.uuid(who, request.uuid)));
        let answer = self.inner.release(request).await;
        self.hears(|w| match &answer {
            Ok(ReleaseOutcome::Released) => {
                format!("Released (uuid={})", w.uuid(who, request.uuid))
            }
            Ok(ReleaseOutcome::NotHeld(_)) => "Already Released".to_owned(),
            Err(error) => format!("no answer ({error})"),
        });
        answer
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let who = self.who;
        let _exchange = self.script.exchange.lock().await;
        self.asks(|_| "Read".to_owned());
        let answer = self.inner.read(name).await;
        self.hears(|w| match &answer {
            Ok(Some(record)) => {
                let state = if record.released { "released" } else { "held" };
                format!("Record ({}, {state})", w.held(who, record))
            }
            Ok(None) => "No record".to_owned(),
            Err(error) => format!("No look ({error})"),
        });
        answer
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        self.inner.renew_many(requests).await
    }

    fn shard(&self, name: &Name) -> u64 {
        self.inner.shard(name)
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.inner.watch().await
    }
}
