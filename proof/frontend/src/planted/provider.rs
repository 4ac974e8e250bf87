//! The memory provider with one flaw. Everything that the flaw does not touch goes to the provider inside.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Sharing, Wakeup, Wakeups,
    },
};
use dlock_testkit::memory::{
    Key, MemoryProvider,
    rules::{self, Decision, Now, Stored, Write},
};
use tokio::{
    sync::{Mutex as RowLock, OwnedMutexGuard},
    task::yield_now,
};

use super::{Flaw, acquire, release, renew};

/// The store's row locks, for batches that take them in the wrong order.
pub(super) type Rows = Arc<Mutex<BTreeMap<Name, Arc<RowLock<()>>>>>;

#[derive(Clone)]
pub(super) struct PlantedProvider {
    pub(super) inner: MemoryProvider,
    pub(super) flaw: Option<Flaw>,
    pub(super) calls: Arc<AtomicUsize>,
    rows: Rows,
    sharing: Sharing,
    /// The memory of `ReadIsCached`.
    read: Arc<Mutex<BTreeMap<Name, Option<Record>>>>,
    /// The memory of `HintsNeedARefusal`.
    refused: Arc<Mutex<BTreeSet<Name>>>,
}

impl PlantedProvider {
    pub(super) fn new(inner: MemoryProvider, flaw: Option<Flaw>, rows: Rows) -> Self {
        Self {
            inner,
            flaw,
            calls: Arc::default(),
            rows,
            sharing: Sharing::default(),
            read: Arc::default(),
            refused: Arc::default(),
        }
    }

    pub(super) fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// The key under which a name is stored.
    pub(super) fn key(&self, name: &Name) -> Result<Key, ProviderError> {
        let text = name.as_str();
        let (prefix, name) = match self.inner.key(name) {
            Err(_) if self.has(Flaw::LongKeysAreCut) => {
                let cut = text.floor_char_boundary(Name::MAX_BYTES - self.inner.own_prefix().len());
                (self.inner.own_prefix().into(), text[..cut].to_owned())
            }
            key => key?,
        };
        let key = match self.flaw {
            Some(Flaw::NamesIgnoreCase) => (prefix, name.to_lowercase()),
            Some(Flaw::NamesAreTrimmed) => (prefix, name.trim_end_matches(' ').to_owned()),
            Some(Flaw::NamesAreComposed) => (prefix, name.replace("a\u{301}", "\u{e1}")),
            Some(Flaw::NamesAreCut) => (prefix, name[..name.floor_char_boundary(255)].to_owned()),
            Some(Flaw::NonAsciiLongNamesAreCut) if !name.is_ascii() => {
                (prefix, name[..name.floor_char_boundary(512)].to_owned())
            }
            Some(Flaw::LongNamesAreRefused) if name.len() > 1000 => {
                return Err(ProviderError::fatal("the name is too long for this store"));
            }
            Some(Flaw::PrefixIsJoined) => ("".into(), format!("{prefix}{name}")),
            Some(Flaw::PrefixIsIgnored) => ("".into(), name),
            _ => (prefix, name),
        };
        Ok(key)
    }

    pub(super) fn write<A>(
        &self,
        name: &Name,
        decide: impl FnOnce(Option<&Stored>, &Now) -> Decision<A>,
    ) -> Result<A, ProviderError> {
        self.inner.writable()?;
        self.inner.store().decide(&self.key(name)?, |stored, now| {
            let Decision { write, answer } = decide(stored, now);
            (write, answer)
        })
    }

    pub(super) fn look(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let key = self.key(name)?;
        Ok(self
            .inner
            .store()
            .look(|records, now| records.get(&key).map(|stored| now.shows(stored))))
    }

    pub(super) fn decide_acquire(
        &self,
        stored: Option<&Stored>,
        request: &Acquire,
        now: &Now,
    ) -> Decision<AcquireOutcome> {
        match self.flaw {
            Some(flaw) => acquire::acquire(flaw, stored, request, now),
            None => rules::acquire(stored, request, now),
        }
    }

    /// Locks one row after the other, in the order of the requests.
    async fn lock_rows(&self, requests: &[Renew]) -> Vec<OwnedMutexGuard<()>> {
        let mut locked = Vec::new();
        for request in requests {
            let row = {
                let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(rows.entry(request.name.clone()).or_default())
            };
            locked.push(row.lock_owned().await);
            yield_now().await;
        }
        locked
    }

    fn hint(&self, name: &Name) -> Result<(), ProviderError> {
        let text = name.as_str();
        let hinted = match self.flaw {
            Some(Flaw::HintsAreCut) => Name::new(&text[..text.floor_char_boundary(200)]),
            Some(Flaw::HintsLoseCase) => Name::new(text.to_lowercase()),
            _ => Ok(name.clone()),
        };
        // Whatever a change of case does to its length, a name stays a name here.
        let hinted = hinted.unwrap_or_else(|_| name.clone());
        self.inner.store().wake(&self.key(name)?, &hinted);
        Ok(())
    }
}

#[async_trait]
impl Provider for PlantedProvider {
    fn capabilities(&self) -> Capabilities {
        let calls = self.calls.fetch_add(1, Ordering::SeqCst);
        let capabilities = self.inner.capabilities();
        capabilities
            .batch(!self.has(Flaw::CapabilitiesChange) || calls.is_multiple_of(2))
            .closing(!self.has(Flaw::ClosingIsNotSaid))
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let absent = self.look(&request.name)?.is_none();
        if self.has(Flaw::NotAtomic) || (self.has(Flaw::FirstGrantNotAtomic) && absent) {
            return self.acquire_in_two_steps(request).await;
        }
        if self.has(Flaw::MarkIsNotConditional) && request.marks != 0 && !absent {
            return self.acquire_in_two_steps(request).await;
        }
        if self.has(Flaw::MarkFollowsTheAnswer) && request.marks != 0 {
            return self.acquire_and_mark_then(request).await;
        }
        if self.has(Flaw::TokenDrawnBeforeTheLock) {
            return self.acquire_with_an_early_token(request).await;
        }
        let outcome = self.write(&request.name, |stored, now| {
            self.decide_acquire(stored, request, now)
        })?;
        if matches!(outcome, AcquireOutcome::Held(_)) {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            refused.insert(request.name.clone());
        }
        if self.has(Flaw::HeldFromAnotherLook) && matches!(outcome, AcquireOutcome::Held(_)) {
            tokio::time::sleep(Duration::from_millis(1)).await;
            return Ok(self
                .look(&request.name)?
                .map_or(AcquireOutcome::Spent, AcquireOutcome::Held));
        }
        Ok(outcome)
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.write(&request.name, |stored, now| match self.flaw {
            Some(flaw) => renew::renew(flaw, stored, request, now),
            None => rules::renew(stored, request, now),
        })
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let mut hints = None;
        if self.has(Flaw::HintsByAnEarlierRead) {
            let seen = self.look(&request.name)?;
            hints = Some(seen.is_some_and(|seen| seen.wanted != 0));
            yield_now().await;
        }
        let outcome = self.write(&request.name, |stored, now| match self.flaw {
            Some(flaw) => release::release(flaw, stored, request, now),
            None => rules::release(stored, request, now),
        })?;
        let wanted = outcome == (ReleaseOutcome::Released { wanted: true });
        let unmarked = self.has(Flaw::HintsUnmarked) && outcome.is_released();
        if hints.unwrap_or(wanted || unmarked) {
            self.hint(&request.name)?;
        }
        Ok(outcome)
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        if self.has(Flaw::ReadIsCached) {
            let mut cache = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = cache.get(name) {
                return Ok(known.clone());
            }
            let record = self.look(name)?;
            cache.insert(name.clone(), record.clone());
            return Ok(record);
        }
        let mut shown = self.look(name)?;
        if self.has(Flaw::ReadCounts) {
            self.write(name, |stored, _| {
                let write = stored.map_or(Write::Nothing, |stored| {
                    let mut stored = stored.clone();
                    stored.record.renewals += 1;
                    Write::Put(Box::new(stored))
                });
                Decision {
                    write,
                    answer: Ok(()),
                }
            })?;
        }
        if let Some(record) = &mut shown {
            match self.flaw {
                Some(Flaw::RemainingNeverEnds) if !record.released => {
                    record.remaining = Some(record.duration);
                }
                Some(Flaw::RemainingAfterRelease) if record.released => {
                    record.remaining = Some(Duration::ZERO);
                }
                Some(Flaw::RemainingIsMissing) => record.remaining = None,
                Some(Flaw::RemainingOnObserver) => record.remaining = Some(record.duration),
                _ => {}
            }
        }
        Ok(shown.filter(|record| match self.flaw {
            Some(Flaw::ReadHidesExpired) => {
                record.released || record.remaining != Some(Duration::ZERO)
            }
            Some(Flaw::ReadHidesReleased) => !record.released,
            _ => true,
        }))
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let mut requests = requests.to_vec();
        match self.flaw {
            Some(Flaw::EmptyBatchIsAnError) if requests.is_empty() => {
                return vec![Err(ProviderError::fatal("nothing to renew"))];
            }
            Some(Flaw::BatchInNameOrder) => requests.sort_by(|a, b| a.name.cmp(&b.name)),
            Some(Flaw::BatchForgetsTheLast) => {
                requests.pop();
            }
            _ => {}
        }
        let _locked = match self.flaw {
            Some(Flaw::BatchesBlockEachOther) => self.lock_rows(&requests).await,
            _ => Vec::new(),
        };
        let mut answers = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            let twin = requests[index + 1..]
                .iter()
                .rfind(|later| later.name == request.name);
            let request = if self.has(Flaw::BatchKeepsOnePerName) {
                twin.unwrap_or(request)
            } else {
                request
            };
            let answer = self.write(&request.name, |stored, now| match self.flaw {
                Some(flaw) => renew::batched(flaw, stored, request, now),
                None => rules::renew(stored, request, now),
            });
            let over =
                self.has(Flaw::BatchEndsAtALoss) && matches!(answer, Ok(RenewOutcome::Lost(_)));
            answers.push(answer);
            if over {
                break;
            }
        }
        answers
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        Ok(match self.flaw {
            Some(Flaw::WatchIsMissing) => None,
            Some(Flaw::HintsReachOneListener) => {
                self.inner.store().break_watches();
                self.inner.watch().await?
            }
            Some(Flaw::WatchHearsLate) => self.inner.watch().await?.map(without_the_first),
            Some(Flaw::DropEndsTheOthers) => {
                let store = self.inner.store().clone();
                self.inner
                    .watch()
                    .await?
                    .map(|stream| passed_on(stream, |_| true, move || store.break_watches()))
            }
            Some(Flaw::HintsNeedARefusal) => {
                let refused = Arc::clone(&self.refused);
                let passes = move |hint: &Wakeup| match hint {
                    Wakeup::Name(name) => {
                        let refused = refused.lock().unwrap_or_else(PoisonError::into_inner);
                        refused.contains(name)
                    }
                    Wakeup::Everyone => true,
                };
                let stream = self.inner.watch().await?;
                stream.map(|stream| passed_on(stream, passes, || {}))
            }
            _ => self.inner.watch().await?,
        })
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}

fn without_the_first(stream: Wakeups) -> Wakeups {
    let mut is_first = true;
    let passes = move |_: &Wakeup| !std::mem::take(&mut is_first);
    passed_on(stream, passes, || {})
}

/// The stream with the hints that pass; it notifies when it is dropped.
fn passed_on(
    mut stream: Wakeups,
    mut passes: impl FnMut(&Wakeup) -> bool + Send + 'static,
    dropped: impl FnOnce() + Send + 'static,
) -> Wakeups {
    let (to, passed) = Wakeups::channel(256);
    crate::spawn(async move {
        loop {
            let hint: Option<Wakeup> = tokio::select! {
                biased;
                () = to.closed() => {
                    dropped();
                    return;
                }
                hint = stream.next() => hint,
            };
            let Some(hint) = hint else { return };
            if passes(&hint) && !to.send(hint) {
                return;
            }
        }
    });
    passed
}
