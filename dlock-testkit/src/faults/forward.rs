//! [`Faulty`] as a provider: every method, subject to the fault that is due.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, List, Page, Release,
        ReleaseOutcome, Renew, RenewOutcome, Revoke, RevokeOutcome, Wakeup, WakeupSender, Wakeups,
    },
};
use tokio::sync::watch;

use super::{
    Fault, Faulty,
    log::{Op, Outcome, Request},
};

#[async_trait]
impl<P: Provider> Provider for Faulty<P> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let sent = request.clone();
        self.call(
            Op::Acquire,
            Request::Acquire(request.clone()),
            move |inner| {
                let sent = sent.clone();
                async move { inner.acquire(&sent).await }
            },
        )
        .await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let sent = request.clone();
        self.call(Op::Renew, Request::Renew(request.clone()), move |inner| {
            let sent = sent.clone();
            async move { inner.renew(&sent).await }
        })
        .await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let sent = request.clone();
        self.call(
            Op::Release,
            Request::Release(request.clone()),
            move |inner| {
                let sent = sent.clone();
                async move { inner.release(&sent).await }
            },
        )
        .await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let sent = name.clone();
        self.call(Op::Read, Request::Read(name.clone()), move |inner| {
            let sent = sent.clone();
            async move { inner.read(&sent).await }
        })
        .await
    }

    /// A fault for [`Op::RenewMany`] strikes the whole round trip; a fault for [`Op::Renew`] strikes the item it falls
    /// on, which is then sent alone.
    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let trip = self
            .log
            .began(Op::RenewMany, Request::RenewMany(requests.to_vec()));
        let whole = self.script.due(Op::RenewMany);
        let faults: Vec<Option<Fault>> = requests
            .iter()
            .map(|_| whole.or_else(|| self.script.due(Op::Renew)))
            .collect();
        let entries: Vec<usize> = requests
            .iter()
            .map(|request| self.log.began(Op::Renew, Request::Renew(request.clone())))
            .collect();

        let together: Vec<Renew> = requests
            .iter()
            .zip(&faults)
            .filter(|(_, fault)| fault.is_none())
            .map(|(r, _)| r.clone())
            .collect();
        let mut answered = self.inner.renew_many(&together).await.into_iter();

        let mut answers = Vec::with_capacity(requests.len());
        for ((request, fault), entry) in requests.iter().zip(faults).zip(entries) {
            let answer = if fault.is_some() {
                let sent = request.clone();
                self.under(fault, move |inner| {
                    let sent = sent.clone();
                    async move { inner.renew(&sent).await }
                })
                .await
            } else if let Some(answer) = answered.next() {
                answer
            } else {
                continue; // A short answer stays short: the caller checks.
            };
            self.log.ended(entry, answer.clone().map(Into::into));
            answers.push(answer);
        }
        answers.extend(answered);
        self.log.ended(trip, Ok(Outcome::RenewMany(answers.len())));
        answers
    }

    fn shard(&self, name: &Name) -> u64 {
        self.inner.shard(name)
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        let entry = self.log.began(Op::Watch, Request::Watch);
        let fault = self.script.due(Op::Watch);
        let (give, take) = tokio::sync::oneshot::channel();
        let give = Arc::new(std::sync::Mutex::new(Some(give)));
        // The stream itself cannot be repeated, so it is passed outside the answer.
        let result = self
            .under(fault, move |inner| {
                let give = Arc::clone(&give);
                async move {
                    let stream = inner.watch().await?;
                    let there = stream.is_some();
                    let first = give
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .take();
                    if let Some(first) = first {
                        let _dropped = first.send(stream);
                    }
                    Ok(there)
                }
            })
            .await;
        self.log.ended(entry, result.clone().map(Outcome::Watch));
        if !result? {
            return Ok(None);
        }
        let Ok(Some(source)) = take.await else {
            return Ok(None);
        };
        let (to, stream) = Wakeups::channel(256);
        tokio::spawn(relay(source, to, Arc::clone(&self.wakeups)));
        Ok(Some(stream))
    }
}

#[async_trait]
impl<P: Admin> Admin for Faulty<P> {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        let sent = request.clone();
        self.call(Op::List, Request::List(request.clone()), move |inner| {
            let sent = sent.clone();
            async move { inner.list(&sent).await }
        })
        .await
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        let sent = request.clone();
        self.call(Op::Revoke, Request::Revoke(request.clone()), move |inner| {
            let sent = sent.clone();
            async move { inner.revoke(&sent).await }
        })
        .await
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        let sent = request.clone();
        self.call(Op::Ask, Request::Ask(request.clone()), move |inner| {
            let sent = sent.clone();
            async move { inner.ask(&sent).await }
        })
        .await
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        self.call(Op::Purge, Request::Purge(limit), move |inner| async move {
            inner.purge(limit).await
        })
        .await
    }

    /// Faults and records count it as a release.
    async fn force_release(
        &self,
        name: &Name,
        seen: &Record,
    ) -> Result<ReleaseOutcome, ProviderError> {
        let request = Release::new(name.clone(), seen.uuid, Some(seen.token));
        let (name, seen) = (name.clone(), seen.clone());
        self.call(Op::Release, Request::Release(request), move |inner| {
            let (name, seen) = (name.clone(), seen.clone());
            async move { inner.force_release(&name, &seen).await }
        })
        .await
    }
}

/// Forwards hints until the source ends, the receiver is dropped, or the stream is broken on purpose. It may outlive
/// the wrapper, as the stream may.
async fn relay(mut source: Wakeups, to: WakeupSender, switch: Arc<watch::Sender<(bool, u64)>>) {
    let mut switched = switch.subscribe();
    let (_, unbroken) = *switched.borrow();
    loop {
        tokio::select! {
            biased;
            _kept_alive = switched.changed() => {
                if switched.borrow().1 != unbroken {
                    return;
                }
            }
            () = to.closed() => return,
            hint = source.next() => {
                let Some(hint): Option<Wakeup> = hint else { return };
                if switched.borrow().0 && !to.send(hint) {
                    return;
                }
            }
        }
    }
}
