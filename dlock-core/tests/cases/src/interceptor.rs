//! A wrapper between the faults and the provider under test: it runs a case's hook at the instant of an answer.

use std::{
    collections::VecDeque,
    future::Future,
    num::NonZeroU8,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Wakeups,
    },
};
use dlock_testkit::faults::Op;

/// The hooks that a case runs at the instant of an answer.
type Hooks = VecDeque<(Op, Box<dyn FnOnce() + Send>)>;

/// The wrapper. All clones share one plan.
#[derive(Clone)]
pub(super) struct Interceptor {
    inner: Arc<dyn Provider>,
    plan: Arc<Plan>,
}

#[derive(Default)]
struct Plan {
    after: Mutex<Hooks>,
    asked: AtomicBool,
    one_token: AtomicBool,
    nothing_remains: AtomicBool,
    shards: AtomicBool,
    lost_shard: Mutex<Option<u64>>,
    /// Whether the next batch gets one answer too many (`true`) or too few.
    miscounts: Mutex<Option<bool>>,
}

impl Interceptor {
    pub(super) fn new(inner: Arc<dyn Provider>) -> Self {
        Self {
            inner,
            plan: Arc::default(),
        }
    }

    /// Runs this hook when the next call of this operation has been answered, before the caller sees the answer.
    pub(super) fn after(&self, op: Op, hook: impl FnOnce() + Send + 'static) {
        open(&self.plan.after).push_back((op, Box::new(hook)));
    }

    /// From now on, the answer to every renewal says that the lock was asked for.
    pub(super) fn ask(&self) {
        self.plan.asked.store(true, Ordering::SeqCst);
    }

    /// From now on, every grant carries one token, as on a store that mints no blocks: no term continues.
    pub(super) fn mints_one_token(&self) {
        self.plan.one_token.store(true, Ordering::SeqCst);
    }

    /// From now on, every refusal says that nothing remains of the holder's lease.
    pub(super) fn nothing_remains(&self) {
        self.plan.nothing_remains.store(true, Ordering::SeqCst);
    }

    /// From now on, names live in two shards, by their last letter.
    pub(super) fn shards(&self) {
        self.plan.shards.store(true, Ordering::SeqCst);
    }

    /// From now on, every renewal in this name's shard hangs, with all that travels with it.
    pub(super) fn lose_shard_of(&self, name: &Name) {
        *open(&self.plan.lost_shard) = Some(self.shard(name));
    }

    /// The next batch gets one answer too many, or none for its first renewal.
    pub(super) fn miscount(&self, more: bool) {
        *open(&self.plan.miscounts) = Some(more);
    }

    /// Hangs if one of these is in the shard that is lost.
    async fn reach(&self, requests: &[Renew]) {
        let lost = *open(&self.plan.lost_shard);
        let hangs = |renew: &Renew| Some(self.shard(&renew.name)) == lost;
        if requests.iter().any(hangs) {
            std::future::pending::<()>().await;
        }
    }

    async fn call<T>(&self, op: Op, call: impl Future<Output = T>) -> T {
        let answer = call.await;
        self.answered(op);
        answer
    }

    /// Runs the hook that is due, if there is one.
    fn answered(&self, op: Op) {
        let due = {
            let mut hooks = open(&self.plan.after);
            let first = hooks.iter().position(|(due, _)| *due == op);
            first.and_then(|first| hooks.remove(first))
        };
        if let Some((_, hook)) = due {
            hook();
        }
    }

    fn shown(&self, mut record: Record) -> Record {
        if self.plan.nothing_remains.load(Ordering::SeqCst) {
            record.remaining = Some(Duration::ZERO);
        }
        record
    }
}

#[async_trait]
impl Provider for Interceptor {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let mut request = request.clone();
        if self.plan.one_token.load(Ordering::SeqCst) {
            request.tokens = NonZeroU8::MIN;
        }
        let answer = self.call(Op::Acquire, self.inner.acquire(&request));
        Ok(match answer.await? {
            AcquireOutcome::Held(record) => AcquireOutcome::Held(self.shown(record)),
            other => other,
        })
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.reach(std::slice::from_ref(request)).await;
        let answer = self.call(Op::Renew, self.inner.renew(request)).await?;
        let asked = self.plan.asked.load(Ordering::SeqCst);
        Ok(match answer {
            RenewOutcome::Renewed { .. } if asked => RenewOutcome::Renewed { asked },
            other => other,
        })
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.call(Op::Release, self.inner.release(request)).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let record = self.call(Op::Read, self.inner.read(name)).await?;
        Ok(record.map(|record| self.shown(record)))
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        self.reach(requests).await;
        let mut answers = self.inner.renew_many(requests).await;
        match open(&self.plan.miscounts).take() {
            Some(true) => answers.extend(answers.first().cloned()),
            Some(false) => drop(answers.remove(0)),
            None => {}
        }
        self.answered(Op::RenewMany);
        answers
    }

    /// All names live in one shard unless the case says otherwise, whatever the shards of the provider: the cases here
    /// are about renewals that travel together.
    fn shard(&self, name: &Name) -> u64 {
        if !self.plan.shards.load(Ordering::SeqCst) {
            return 0;
        }
        let letter = name.as_str().chars().rev().find(char::is_ascii_lowercase);
        u64::from(letter.map_or(0, u32::from))
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.inner.watch().await
    }
}

fn open<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
