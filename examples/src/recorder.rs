//! A provider that records the exchanges that pass through it. Wrapping a provider is the way to observe requests: the
//! wrapped provider does not notice.

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

/// The recorded exchanges, with short labels for uuids (`A1`: the first that A drew) and tokens (`T1`, `T2`).
#[derive(Clone, Debug, Default)]
pub struct Script {
    written: Arc<Mutex<Written>>,
    /// Allows one exchange with the store at a time: a wake-up may be faster than the answer to the release that caused
    /// it, and a diagram reads better if the answer comes first.
    exchange: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct Written {
    lines: Vec<String>,
    uuids: HashMap<Uuid, String>,
    drawn: HashMap<&'static str, usize>,
    tokens: Vec<FencingToken>,
}

impl Script {
    /// Adds a line.
    pub fn write(&self, line: impl Into<String>) {
        self.with(|written| written.lines.push(line.into()));
    }

    /// The label of a token, by its rank among the tokens seen.
    #[must_use]
    pub fn token(&self, token: FencingToken) -> String {
        self.with(|written| written.token(token))
    }

    /// All lines.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
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

/// A recorded provider, for one of the clients.
#[derive(Debug)]
pub struct Recorder<P> {
    inner: P,
    who: &'static str,
    script: Script,
}

impl<P> Recorder<P> {
    /// Writes the requests of `who` to `inner`, and the answers, into `script`.
    pub fn new(inner: P, who: &'static str, script: &Script) -> Self {
        Self {
            inner,
            who,
            script: script.clone(),
        }
    }
}

impl<P: Provider> Recorder<P> {
    /// Runs one exchange, and records its request and how it ended.
    async fn exchange<T: Send>(
        &self,
        question: impl FnOnce(&mut Written) -> String + Send,
        call: impl Future<Output = Result<T, ProviderError>> + Send,
        answer: impl FnOnce(&mut Written, &T) -> String + Send,
    ) -> Result<T, ProviderError> {
        let _exchange = self.script.exchange.lock().await;
        self.script.with(|written| {
            let line = question(written);
            written
                .lines
                .push(format!("{} ->> Provider: {line}", self.who));
        });
        let mut end = End {
            who: self.who,
            script: &self.script,
            line: "No answer (the client gave up)".to_owned(),
        };
        let answered = call.await;
        end.line = match &answered {
            Ok(said) => self.script.with(|written| answer(written, said)),
            Err(error) => format!("No answer ({error})"),
        };
        answered
    }
}

/// How an exchange ended. Recorded on drop, since a client that has waited long enough drops its call.
struct End<'a> {
    who: &'static str,
    script: &'a Script,
    line: String,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.script
            .write(format!("Provider ->> {}: {}", self.who, self.line));
    }
}

#[async_trait]
impl<P: Provider> Provider for Recorder<P> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let who = self.who;
        self.exchange(
            |w| {
                let (prev, new) = (w.version(who, request.prev), w.uuid(who, request.new));
                format!(
                    "Acquire (prev_uuid={prev}, new_uuid={new}, duration={:?})",
                    request.duration
                )
            },
            self.inner.acquire(request),
            |w, outcome| match outcome {
                AcquireOutcome::Acquired(tokens) => {
                    format!(
                        "Acquired (uuid={}, token={})",
                        w.uuid(who, request.new),
                        w.token(tokens.last())
                    )
                }
                AcquireOutcome::Held(record) => format!("Failure ({})", w.held(who, record)),
                AcquireOutcome::Spent => "Spent".to_owned(),
            },
        )
        .await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let who = self.who;
        self.exchange(
            |w| {
                let uuid = w.uuid(who, request.uuid);
                format!("Renew (uuid={uuid}, n={})", request.n)
            },
            self.inner.renew(request),
            |_, outcome| match outcome {
                RenewOutcome::Renewed { .. } => "Renewed".to_owned(),
                RenewOutcome::Lost(_) => "Lost".to_owned(),
            },
        )
        .await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let who = self.who;
        self.exchange(
            |w| format!("Release (uuid={})", w.uuid(who, request.uuid)),
            self.inner.release(request),
            |w, outcome| match outcome {
                ReleaseOutcome::Released { .. } => {
                    format!("Released (uuid={})", w.uuid(who, request.uuid))
                }
                ReleaseOutcome::NotHeld(_) => "Already Released".to_owned(),
            },
        )
        .await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let who = self.who;
        self.exchange(
            |_| "Read".to_owned(),
            self.inner.read(name),
            |w, record| match record {
                Some(record) => {
                    let state = if record.released { "released" } else { "held" };
                    format!("Record ({}, {state})", w.held(who, record))
                }
                None => "No record".to_owned(),
            },
        )
        .await
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
