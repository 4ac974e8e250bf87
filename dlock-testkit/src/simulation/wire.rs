//! The way between a client and the store: it takes time, loses, delays, repeats and refuses, as the
//! plan says, and tells the monitor what passes.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Acquire, AcquireOutcome, Admin, Capabilities, ErrorKind, Machine, Name, Provider,
    ProviderError, Record, Release, ReleaseOutcome, Renew, RenewOutcome, Sharing, Standstill,
    Wakeup, WakeupSender, Wakeups,
};
use fastrand::Rng;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

use super::{
    chronicle,
    monitor::{CallId, Monitor},
    plan::{ClientPlan, Effect, Fault, Plan},
};
use crate::{
    faults::{Op, Outcome, Request},
    history::{Log, Recorded, line::PAUSE},
    memory::MemoryProvider,
};

/// One client's way to the store.
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
        tokio::spawn(self.clone().deliver(op, nth, request, ask, reply));
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
        let effect = self.effect(op, nth);
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
                tokio::spawn(async move {
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

    /// An operator releases what an acquire has just been granted (B2).
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

    /// The machine is suspended in a moment, for so long.
    fn sleeps(&self, lasting: Duration) {
        let this = self.clone();
        tokio::spawn(async move {
            let Self(inner) = &this;
            sleep(Duration::from_millis(1)).await;
            let (machine, client) = (&inner.machine, inner.client);
            let how = Standstill::Suspended;
            stand_still(&inner.monitor, &inner.log, machine, client, how, lasting).await;
        });
    }

    fn effect(&self, op: Op, nth: u64) -> Option<Effect> {
        let Self(inner) = self;
        let now = inner.start.elapsed();
        let window = || {
            let mut windows = inner.windows.iter();
            let found = windows.find(|(from, to, _)| (*from..*to).contains(&now))?;
            Some(found.2)
        };
        let effect = inner.single.get(&(op, nth)).copied().or_else(window)?;
        let kind = match effect {
            Effect::LoseRequest => "lost requests",
            Effect::LoseReply => "lost replies",
            Effect::Refuse(ErrorKind::NotApplied) => "throttled",
            Effect::Refuse(_) => "refused",
            Effect::Doubt(_) => "doubtful",
            Effect::DelayRequest(_) => "delayed requests",
            Effect::DelayReply(_) => "delayed replies",
            Effect::Duplicate(_) => "duplicates",
            Effect::Spend => "spent tries",
            Effect::Stale(_) => "stale reads",
            Effect::SleepSent(_) | Effect::SleepAnswered(_) => "standstills",
        };
        inner.monitor.figures(|figures| figures.fault(kind));
        chronicle::call_fault(&inner.log, inner.client, kind, &effect);
        Some(effect)
    }

    fn count(&self, op: Op) -> u64 {
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(op).or_default();
        *count += 1;
        *count - 1
    }

    /// Drawn for each message by itself, so that leaving a fault out changes as little as possible.
    fn latency(&self, op: Op, message: u64) -> Duration {
        let Self(inner) = self;
        let mut rng = Rng::with_seed(inner.seed);
        for salt in [inner.client as u64, op as u64, message] {
            rng = Rng::with_seed(rng.u64(..).wrapping_add(salt));
        }
        let (least, most) = inner.latency;
        Duration::from_millis(rng.u64(least..=most))
    }

    /// Passes hints on, after their way and in their order, until the source ends.
    async fn relay(self, mut source: Wakeups, to: WakeupSender) {
        let Self(inner) = &self;
        let mut message = 0;
        while let Some(hint) = source.next().await {
            message += 1;
            sleep(self.latency(Op::Watch, 1_000_000 + message)).await;
            inner.machine.running().await;
            let now = inner.start.elapsed();
            if inner
                .mutes
                .iter()
                .any(|(from, until)| (*from..*until).contains(&now))
            {
                inner.monitor.figures(|figures| figures.fault("lost hints"));
                continue;
            }
            let name = match &hint {
                Wakeup::Name(name) => Some(name.as_str()),
                Wakeup::Everyone => None,
            };
            inner.monitor.hinted(inner.client, name);
            if !to.send(hint) {
                break;
            }
        }
        inner.machine.running().await;
        inner.monitor.watching(inner.client, false);
    }
}

/// A machine stands still for a while, unless it does already.
pub(super) async fn stand_still(
    monitor: &Monitor,
    log: &Log,
    machine: &Machine,
    client: usize,
    how: Standstill,
    lasting: Duration,
) {
    if !machine.stand(how) {
        return;
    }
    let fault = log.fault(PAUSE, &format!("c{client}"));
    monitor.disturbed(client, true);
    sleep(lasting).await;
    machine.resume();
    monitor.disturbed(client, false);
    // Timers that stood still ask the clock again within D/10 (V2).
    sleep(chronicle::AFTERMATH).await;
    fault.end();
}

/// What a client's locks are built with: its wire, recorded, whose clones share the client.
#[derive(Clone, Debug)]
pub(super) struct Station {
    wire: Recorded<Wire>,
    sharing: Sharing,
}

impl Station {
    pub(super) fn new(wire: Recorded<Wire>) -> Self {
        Self {
            wire,
            sharing: Sharing::default(),
        }
    }
}

#[async_trait]
impl Provider for Station {
    fn capabilities(&self) -> Capabilities {
        self.wire.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.wire.acquire(request).await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.wire.renew(request).await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.wire.release(request).await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.wire.read(name).await
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.wire.watch().await
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}

/// A call under way.
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

#[async_trait]
impl Provider for Wire {
    fn capabilities(&self) -> Capabilities {
        self.0.store.capabilities()
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let sent = request.clone();
        let ask = move |store: MemoryProvider| {
            let sent = sent.clone();
            async move { store.acquire(&sent).await }
        };
        self.call(Op::Acquire, Request::Acquire(request.clone()), ask)
            .await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let sent = request.clone();
        let ask = move |store: MemoryProvider| {
            let sent = sent.clone();
            async move { store.renew(&sent).await }
        };
        self.call(Op::Renew, Request::Renew(request.clone()), ask)
            .await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let sent = request.clone();
        let ask = move |store: MemoryProvider| {
            let sent = sent.clone();
            async move { store.release(&sent).await }
        };
        self.call(Op::Release, Request::Release(request.clone()), ask)
            .await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let (sent, monitor) = (name.clone(), self.0.monitor.clone());
        let next = self.0.counts.lock().map_or(0, |counts| {
            counts.get(&Op::Read).copied().unwrap_or_default()
        });
        let stale = match self.0.single.get(&(Op::Read, next)) {
            Some(Effect::Stale(writes)) => Some(*writes),
            _ => None,
        };
        let ask = move |store: MemoryProvider| {
            let (sent, monitor) = (sent.clone(), monitor.clone());
            async move {
                match stale {
                    Some(writes) => Ok(monitor.stale(sent.as_str(), writes)),
                    None => store.read(&sent).await,
                }
            }
        };
        self.call(Op::Read, Request::Read(name.clone()), ask).await
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        let slot = Arc::new(Mutex::new(None));
        let put = Arc::clone(&slot);
        let ask = move |store: MemoryProvider| {
            let put = Arc::clone(&put);
            async move {
                let stream = store.watch().await?;
                let there = stream.is_some();
                *put.lock().unwrap_or_else(PoisonError::into_inner) = stream;
                Ok(Opened(there))
            }
        };
        self.call(Op::Watch, Request::Watch, ask).await?;
        let source = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(source.map(|source| {
            let (to, stream) = Wakeups::channel(256);
            self.0.monitor.watching(self.0.client, true);
            tokio::spawn(self.clone().relay(source, to));
            stream
        }))
    }
}

/// Whether there is a stream of hints.
#[derive(Clone)]
struct Opened(bool);

impl From<Opened> for Outcome {
    fn from(Opened(there): Opened) -> Self {
        Self::Watch(there)
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire")
            .field("client", &self.0.client)
            .finish_non_exhaustive()
    }
}
