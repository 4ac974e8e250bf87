//! The connection between a process and the store: it takes time, loses, delays and repeats, according to the plan, and
//! reports all calls and answers to the monitor.

use std::{
    future::pending,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::ProviderError;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout},
};

use super::{
    monitor::{Monitor, ProcessId},
    plan::{Calls, Effect, Fault, Plan},
};
use crate::tasks::{Answer, Call, Passage};

/// One process's connection to the store.
#[derive(Clone)]
pub(in crate::tasks) struct Wire(Arc<Inner>);

struct Inner {
    process: ProcessId,
    monitor: Monitor,
    start: Instant,
    faults: Vec<Fault>,
    latency: (u64, u64),
    patience: Duration,
    dead: AtomicBool,
    random: Mutex<fastrand::Rng>,
}

impl Wire {
    pub(super) fn new(
        plan: &Plan,
        worker: usize,
        process: ProcessId,
        (monitor, start): (Monitor, Instant),
        random: fastrand::Rng,
    ) -> Self {
        let own = |fault: &&Fault| fault.worker.is_none_or(|whose| whose == worker);
        Self(Arc::new(Inner {
            process,
            monitor,
            start,
            faults: plan.faults.iter().filter(own).copied().collect(),
            latency: plan.workers[worker].latency,
            patience: plan.workers[worker].patience,
            dead: AtomicBool::new(false),
            random: Mutex::new(random),
        }))
    }

    /// From now on, this process sends and receives nothing.
    pub(super) fn cut(&self) {
        self.0.dead.store(true, Ordering::Relaxed);
    }

    fn is_cut(&self) -> bool {
        self.0.dead.load(Ordering::Relaxed)
    }

    /// The effect on a call that is sent now.
    fn effect(&self, call: &Call) -> Option<Effect> {
        let now = self.0.start.elapsed();
        let faults = self.0.faults.iter();
        let meant = |calls| match calls {
            Calls::All => true,
            Calls::Claims => matches!(call, Call::Claim(_)),
            Calls::Heartbeats => matches!(call, Call::Renew(_)),
        };
        faults
            .filter(|fault| fault.from <= now && now < fault.from + fault.lasting)
            .filter(|fault| meant(fault.calls))
            .find(|fault| self.random().f64() < fault.chance)
            .map(|fault| fault.effect)
    }

    fn latency(&self) -> Duration {
        let (from, to) = self.0.latency;
        Duration::from_millis(self.random().u64(from..=to))
    }

    fn random(&self) -> std::sync::MutexGuard<'_, fastrand::Rng> {
        self.0.random.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers a call, whether or not its caller waits.
    async fn deliver<A, F, Fut>(
        self,
        call: Call,
        effect: Option<Effect>,
        ask: F,
        reply: oneshot::Sender<Result<A, ProviderError>>,
    ) where
        A: Clone + Into<Answer> + Send + Sync + 'static,
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, ProviderError>> + Send + 'static,
    {
        sleep(self.latency()).await;
        match effect {
            Some(Effect::LoseRequest) => return pending().await,
            Some(Effect::DelayRequest(by)) => sleep(by).await,
            _ => {}
        }
        let answer = match effect {
            Some(Effect::Refuse) => Err(ProviderError::not_applied("the store is down")),
            _ => self.apply(&call, &ask).await,
        };
        let answer = match effect {
            Some(Effect::LoseReply) => return pending().await,
            Some(Effect::Doubt) => Err(ProviderError::unknown("a fault lost the reply")),
            Some(Effect::DelayReply(by)) => {
                sleep(by).await;
                answer
            }
            Some(Effect::Duplicate(after)) => {
                let again = self.clone();
                crate::spawn(async move {
                    sleep(after).await;
                    drop(again.apply(&call, &ask).await);
                });
                answer
            }
            _ => answer,
        };
        sleep(self.latency()).await;
        drop(reply.send(answer));
    }

    /// The store receives a call. It answers in the same instant.
    async fn apply<A, F, Fut>(&self, call: &Call, ask: &F) -> Result<A, ProviderError>
    where
        A: Clone + Into<Answer> + Send + Sync,
        F: Fn() -> Fut + Sync,
        Fut: Future<Output = Result<A, ProviderError>> + Send,
    {
        let before = self.0.monitor.before(call);
        let answer = ask().await;
        if let Ok(answer) = &answer {
            let answer = answer.clone().into();
            self.0
                .monitor
                .applied(self.0.process, call, &before, &answer);
        }
        answer
    }
}

#[async_trait]
impl Passage for Wire {
    async fn pass<A, F, Fut>(&self, call: Call, ask: F) -> Result<A, ProviderError>
    where
        A: Clone + Into<Answer> + Send + Sync + 'static,
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, ProviderError>> + Send + 'static,
    {
        if self.is_cut() {
            return pending().await;
        }
        let Inner {
            process,
            monitor,
            patience,
            ..
        } = &*self.0;
        let effect = self.effect(&call);
        monitor.called(*process, &call, effect.is_some());
        let (reply, answered) = oneshot::channel();
        crate::spawn(self.clone().deliver(call.clone(), effect, ask, reply));
        let answer = match timeout(*patience, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => Err(ProviderError::unknown("no answer in time")),
        };
        if self.is_cut() {
            return pending().await;
        }
        monitor.answered(*process, &call, &answer.clone().map(Into::into));
        answer
    }
}
