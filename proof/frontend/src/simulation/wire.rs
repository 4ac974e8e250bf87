//! The connection between a client and the store: it takes time, loses, delays, repeats and refuses, according to the
//! plan, and reports all requests and answers to the monitor.

mod batches;
mod effects;
mod requests;
mod station;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use dlock_core::{
    Name, Provider, ProviderError,
    provider::{Admin, Release},
};
use dlock_testkit::machine::Machine;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

pub(super) use self::{effects::stand_still, station::Station};
use super::{
    monitor::{CallId, Monitor},
    plan::{ClientPlan, Effect, Fault, Plan},
};
use crate::history::Log;
use dlock_testkit::{
    faults::{Op, Outcome, Request},
    memory::MemoryProvider,
};

/// One client's connection to the store.
#[derive(Clone)]
pub(super) struct Wire(Arc<Inner>);

struct Inner {
    client: usize,
    seed: u64,
    start: Instant,
    latency: (u64, u64),
    store: MemoryProvider,
    machine: Machine,
    monitor: Monitor,
    log: Log,
    /// Effects on single calls, by operation and number.
    single: BTreeMap<(Op, u64), Effect>,
    windows: Vec<(Duration, Duration, Effect)>,
    mutes: Vec<(Duration, Duration)>,
    counts: Mutex<BTreeMap<Op, u64>>,
}

impl Wire {
    pub(super) fn new(
        plan: &Plan,
        client: usize,
        store: MemoryProvider,
        machine: Machine,
        monitor: Monitor,
        log: Log,
    ) -> Self {
        let ClientPlan { latency, .. } = &plan.clients[client];
        let mut single = BTreeMap::new();
        let (mut windows, mut mutes) = (Vec::new(), Vec::new());
        for fault in &plan.faults {
            match fault {
                Fault::Call {
                    client: whose,
                    op,
                    nth,
                    effect,
                } if *whose == client => {
                    single.insert((*op, *nth), *effect);
                }
                Fault::Network {
                    client: whose,
                    from,
                    lasting,
                    effect,
                } if whose.is_none_or(|whose| whose == client) => {
                    windows.push((*from, *from + *lasting, *effect));
                }
                Fault::Mute {
                    client: whose,
                    from,
                    lasting,
                } if *whose == client => mutes.push((*from, *from + *lasting)),
                _ => {}
            }
        }
        Self(Arc::new(Inner {
            client,
            seed: plan.seed,
            start: Instant::now(),
            latency: *latency,
            store,
            machine,
            monitor,
            log,
            single,
            windows,
            mutes,
            counts: Mutex::default(),
        }))
    }

    /// In some runs the store has two parts.
    pub(super) fn shard_of(&self, name: &Name) -> u64 {
        let last = name.as_str().bytes().last().unwrap_or_default();
        u64::from(self.0.seed.is_multiple_of(3) && last % 4 == 3)
    }

    /// One call: sent, delivered, applied, answered, each at its own time.
    async fn call<A, F, Fut>(&self, op: Op, request: Request, ask: F) -> Result<A, ProviderError>
    where
        A: Clone + Into<Outcome> + Send + Sync + 'static,
        F: Fn(MemoryProvider) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, ProviderError>> + Send + 'static,
    {
        let Self(inner) = self;
        let mut open = Open {
            monitor: inner.monitor.clone(),
            id: Some(inner.monitor.called(inner.client, &request)),
        };
        let nth = self.count(op);
        let (reply, answered) = oneshot::channel();
        crate::spawn(self.clone().deliver(op, nth, request, ask, reply));
        match answered.await {
            Ok(answer) => {
                open.answered(&answer);
                answer
            }
            Err(_lost) => std::future::pending().await,
        }
    }

    async fn deliver<A, F, Fut>(
        self,
        op: Op,
        nth: u64,
        request: Request,
        ask: F,
        reply: oneshot::Sender<Result<A, ProviderError>>,
    ) where
        A: Clone + Into<Outcome> + Send + Sync + 'static,
        F: Fn(MemoryProvider) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, ProviderError>> + Send + 'static,
    {
        let Self(inner) = &self;
        let name = match &request {
            Request::Acquire(acquire) => acquire.name.as_str(),
            Request::Renew(renew) => renew.name.as_str(),
            Request::Release(release) => release.name.as_str(),
            Request::Read(name) => name.as_str(),
            _ => "",
        };
        let effect = self.effect(op, nth, name);
        if let Some(Effect::SleepSent(lasting)) = effect {
            self.sleeps(lasting);
        }
        sleep(self.latency(op, 2 * nth)).await;
        match effect {
            Some(Effect::LoseRequest) => return,
            Some(Effect::DelayRequest(by)) => sleep(by).await,
            _ => {}
        }
        let answer = match effect {
            Some(Effect::Refuse(kind)) => Err(ProviderError::new(kind, "a fault refused the call")),
            _ => self.apply(&request, &ask).await,
        };
        let answer = match effect {
            Some(Effect::LoseReply) => return,
            Some(Effect::Doubt(kind)) => Err(ProviderError::new(kind, "a fault lost the reply")),
            Some(Effect::Spend) => {
                self.spend(&request).await;
                Err(ProviderError::unknown("a fault lost the reply"))
            }
            Some(Effect::DelayReply(by)) => {
                sleep(by).await;
                answer
            }
            Some(Effect::Duplicate(after)) => {
                let again = self.clone();
                crate::spawn(async move {
                    sleep(after).await;
                    drop(again.apply(&request, &ask).await);
                });
                answer
            }
            _ => answer,
        };
        sleep(self.latency(op, 2 * nth + 1)).await;
        inner.machine.running().await;
        drop(reply.send(answer));
        if let Some(Effect::SleepAnswered(lasting)) = effect {
            self.sleeps(lasting);
        }
    }

    /// The store gets a request.
    async fn apply<A, F, Fut>(&self, request: &Request, ask: &F) -> Result<A, ProviderError>
    where
        A: Clone + Into<Outcome> + Send + Sync,
        F: Fn(MemoryProvider) -> Fut + Send + Sync,
        Fut: Future<Output = Result<A, ProviderError>> + Send,
    {
        let Self(inner) = self;
        let answer = ask(inner.store.clone()).await;
        if let Ok(outcome) = &answer {
            let name = match request {
                Request::Acquire(request) => Some(&request.name),
                Request::Renew(request) => Some(&request.name),
                Request::Release(request) => Some(&request.name),
                _ => None,
            };
            let now = match name {
                Some(name) => inner.store.read(name).await.ok().flatten(),
                None => None,
            };
            inner.monitor.applied(request, &outcome.clone().into(), now);
        }
        answer
    }

    /// An operator releases the lock that an acquire has just been granted (B2).
    async fn spend(&self, request: &Request) {
        let Self(inner) = self;
        let Request::Acquire(acquire) = request else {
            return;
        };
        let Ok(Some(record)) = inner.store.read(&acquire.name).await else {
            return;
        };
        if record.uuid == acquire.new
            && let Ok(outcome) = inner.store.force_release(&acquire.name, &record).await
        {
            let release = Release::new(acquire.name.clone(), record.uuid, Some(record.token));
            let now = inner.store.read(&acquire.name).await.ok().flatten();
            inner
                .monitor
                .applied(&Request::Release(release), &outcome.into(), now);
        }
    }
}

/// A call in progress.
struct Open {
    monitor: Monitor,
    id: Option<CallId>,
}

impl Open {
    fn answered<A: Clone + Into<Outcome>>(&mut self, answer: &Result<A, ProviderError>) {
        if let Some(id) = self.id.take() {
            self.monitor.answered(id, &answer.clone().map(Into::into));
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.monitor.dropped(id);
        }
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire")
            .field("client", &self.0.client)
            .finish_non_exhaustive()
    }
}
