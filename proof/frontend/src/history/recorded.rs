//! A provider whose calls are recorded, as its caller sees them.

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Tokens, Wakeups,
    },
};

use super::{
    Process,
    line::{Outcome, What},
    process::error_outcome,
};

/// A wrapper around any provider that writes a line when a call is sent and another when it has
/// ended; a call whose future is dropped ended as `unknown`. Made by [`Process::wrap`]. Like every
/// wrapper it does not forward [`Provider::sharing`].
#[derive(Clone, Debug)]
pub struct Recorded<P> {
    inner: P,
    process: Process,
}

/// A call that was sent. Its line with the outcome is written when this is dropped: `unknown` unless an outcome was
/// set.
struct Sent<'a, W: Fn(Option<Outcome>, Option<Tokens>) -> What> {
    process: &'a Process,
    name: &'a Name,
    line: W,
    outcome: Outcome,
    tokens: Option<Tokens>,
}

impl<P> Recorded<P> {
    pub(super) const fn new(inner: P, process: Process) -> Self {
        Self { inner, process }
    }

    /// The provider inside.
    pub const fn inner(&self) -> &P {
        &self.inner
    }

    fn sent<'a, W: Fn(Option<Outcome>, Option<Tokens>) -> What>(
        &'a self,
        name: &'a Name,
        line: W,
    ) -> Sent<'a, W> {
        self.process.note(name, line(None, None));
        Sent {
            process: &self.process,
            name,
            line,
            outcome: Outcome::Unknown,
            tokens: None,
        }
    }
}

impl<W: Fn(Option<Outcome>, Option<Tokens>) -> What> Sent<'_, W> {
    fn answered<T>(
        mut self,
        answer: &Result<T, ProviderError>,
        outcome: impl FnOnce(&T) -> (Outcome, Option<Tokens>),
    ) {
        (self.outcome, self.tokens) = match answer {
            Ok(answer) => outcome(answer),
            Err(error) => (error_outcome(error.kind()), None),
        };
    }
}

impl<W: Fn(Option<Outcome>, Option<Tokens>) -> What> Drop for Sent<'_, W> {
    fn drop(&mut self) {
        let line = (self.line)(Some(self.outcome), self.tokens);
        self.process.note(self.name, line);
    }
}

#[async_trait]
impl<P: Provider> Provider for Recorded<P> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let attempt = self.process.attempt();
        let sent = self.sent(&request.name, |outcome, tokens| What::Acquire {
            attempt,
            uuid: request.new,
            prev: request.prev.map(Into::into),
            outcome,
            token: tokens.map(|tokens| tokens.last().get()),
            block: tokens
                .map(|tokens| tokens.count().get())
                .filter(|count| *count > 1),
        });
        let answer = self.inner.acquire(request).await;
        sent.answered(&answer, |answer| match answer {
            AcquireOutcome::Acquired(tokens) => (Outcome::Ok, Some(*tokens)),
            AcquireOutcome::Held(_) => (Outcome::Held, None),
            AcquireOutcome::Spent => (Outcome::Spent, None),
        });
        answer
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let attempt = self.process.attempt();
        let sent = self.sent(&request.name, |outcome, _| What::Renew {
            attempt,
            uuid: request.uuid,
            n: request.n,
            outcome,
        });
        let answer = self.inner.renew(request).await;
        sent.answered(&answer, renew_outcome);
        answer
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let attempt = self.process.attempt();
        let sent = self.sent(&request.name, |outcome, _| What::Release {
            attempt,
            uuid: request.uuid,
            outcome,
        });
        let answer = self.inner.release(request).await;
        sent.answered(&answer, |answer| match answer {
            ReleaseOutcome::Released { .. } => (Outcome::Ok, None),
            ReleaseOutcome::NotHeld(_) => (Outcome::Lost, None),
        });
        answer
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let attempt = self.process.attempt();
        let sent = self.sent(name, |outcome, _| What::Read { attempt, outcome });
        let answer = self.inner.read(name).await;
        sent.answered(&answer, |_| (Outcome::Ok, None));
        answer
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let sent: Vec<_> = requests
            .iter()
            .map(|request| {
                let attempt = self.process.attempt();
                self.sent(&request.name, move |outcome, _| What::Renew {
                    attempt,
                    uuid: request.uuid,
                    n: request.n,
                    outcome,
                })
            })
            .collect();
        let answers = self.inner.renew_many(requests).await;
        for (sent, answer) in sent.into_iter().zip(&answers) {
            sent.answered(answer, renew_outcome);
        }
        answers
    }

    fn shard(&self, name: &Name) -> u64 {
        self.inner.shard(name)
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.inner.watch().await
    }
}

const fn renew_outcome(answer: &RenewOutcome) -> (Outcome, Option<Tokens>) {
    match answer {
        RenewOutcome::Renewed { .. } => (Outcome::Ok, None),
        RenewOutcome::Lost(_) => (Outcome::Lost, None),
    }
}
