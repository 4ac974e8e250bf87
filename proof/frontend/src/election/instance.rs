//! One instance of a service: an elector whose connection to the store can break, and all the transitions that it
//! reported.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use dlock_core::{
    Client, Clock, Provider,
    provider::{AcquireOutcome, Admin, Capabilities, Discipline, RenewOutcome},
};
use dlock_election::{Coordinator, Election, Leadership, Next, Transition};
use dlock_testkit::{
    faults::{Fault, Faulty, Outcome},
    proxy::{Direction, Proxy},
};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::voters::{Voters, until};

/// The limit for events that should happen soon.
const SOON: Duration = Duration::from_secs(20);

/// A process of the service.
pub(super) struct Instance {
    pub(super) election: Election,
    pub(super) provider: Faulty<Arc<dyn Admin>>,
    voters: Voters,
    proxy: Option<Proxy>,
    told: Arc<Mutex<Vec<(Instant, Transition)>>>,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
    listening: JoinHandle<()>,
}

impl Instance {
    pub(super) async fn start(voters: &Voters, id: &str) -> Self {
        let Voters {
            electorate,
            name,
            lease,
            ..
        } = voters;
        let (proxy, address) = match electorate.server() {
            Some(server) => match Proxy::start(server).await {
                Ok(proxy) => {
                    let address = proxy.address();
                    (Some(proxy), Some(address))
                }
                Err(error) => panic!("no proxy: {error}"),
            },
            None => (None, None),
        };
        let provider = Faulty::new(electorate.provider(address, *lease).await);
        let election = Election::builder()
            .provider(Client::with_clock(provider.clone(), Clock::system()))
            .name(name)
            .duration(*lease)
            .owner(id)
            .build();
        let election = match election {
            Ok(election) => election,
            Err(error) => panic!("no election: {error}"),
        };
        work(&election, voters);
        let told = Arc::default();
        let listening = listen(&election, &told);
        let (stop, stopped) = oneshot::channel::<()>();
        let runs = election.clone();
        let running = crate::spawn(async move {
            let shutdown = Box::pin(async move { drop(stopped.await) });
            if let Err(error) = runs.run(shutdown).await {
                panic!("the election ended: {error}");
            }
        });
        Self {
            election,
            provider,
            voters: voters.clone(),
            proxy,
            told,
            stop: Some(stop),
            running: Some(running),
            listening,
        }
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        self.provider.capabilities()
    }

    pub(super) fn discipline(&self) -> Discipline {
        self.capabilities().discipline
    }

    /// Waits until it leads, for the first time.
    pub(super) async fn leads(&self) {
        until("it leads", SOON, || self.election.is_leader()).await;
    }

    /// Waits until it follows: it was refused, and listens for wake-ups where there are any.
    pub(super) async fn follows(&self) {
        let watches = self.provider.capabilities().watch;
        until("it follows", SOON, || {
            let calls = self.provider.calls();
            let answered = |wanted: fn(&Outcome) -> bool| {
                calls
                    .iter()
                    .filter_map(|call| call.answer.as_ref()?.as_ref().ok())
                    .any(wanted)
            };
            let refused =
                answered(|answer| matches!(answer, Outcome::Acquire(AcquireOutcome::Held(_))));
            refused && (!watches || answered(|answer| matches!(answer, Outcome::Watch(true))))
        })
        .await;
    }

    /// Waits for the next successful renewal, and returns when it was sent.
    pub(super) async fn renewed(&self) -> Instant {
        let before = self.newest();
        until("it is renewed", SOON, || self.newest() > before).await;
        // It is greater than `before`, so it is `Some`.
        self.newest().unwrap_or_else(Instant::now)
    }

    /// When the newest request was sent that the store has accepted.
    pub(super) fn newest(&self) -> Option<Instant> {
        let calls = self.provider.calls().into_iter();
        let good = calls.filter(|call| {
            matches!(
                &call.answer,
                Some(Ok(Outcome::Acquire(AcquireOutcome::Acquired(_))
                    | Outcome::Renew(RenewOutcome::Renewed { .. })))
            )
        });
        good.map(|call| call.began).max()
    }

    /// Waits for the first of these transitions after `since`, and returns when it came.
    pub(super) async fn told(
        &self,
        what: &str,
        since: Instant,
        limit: Duration,
        wanted: impl Fn(&Transition) -> bool + Send + Sync,
    ) -> Instant {
        let find = || {
            let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            told.iter()
                .find(|(at, transition)| *at >= since && wanted(transition))
                .map(|(at, _)| *at)
        };
        until(what, limit, || find().is_some()).await;
        find().unwrap_or(since)
    }

    pub(super) async fn gained(&self, since: Instant, limit: Duration) -> Instant {
        self.told("another one leads", since, limit, |transition| {
            matches!(transition, Transition::Gained { .. })
        })
        .await
    }

    pub(super) async fn lost(&self, since: Instant, limit: Duration) -> Instant {
        self.told("it steps down", since, limit, |transition| {
            matches!(transition, Transition::Lost { .. })
        })
        .await
    }

    /// How often it has lost its leadership.
    pub(super) fn losses(&self) -> usize {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.iter()
            .filter(|(_, transition)| matches!(transition, Transition::Lost { .. }))
            .count()
    }

    /// From now on nothing passes between it and the store, and neither is notified.
    pub(super) fn cut_off(&self) {
        match &self.proxy {
            Some(proxy) => {
                for direction in Direction::BOTH {
                    proxy.hold(direction);
                }
            }
            None => self.provider.everything(Fault::LoseRequest),
        }
    }

    /// The store is down: connections break, and new ones are refused.
    pub(super) async fn lose_the_store(&self) {
        match &self.proxy {
            Some(proxy) => {
                proxy.refuse().await;
                proxy.reset();
            }
            None => self.provider.everything(Fault::THROTTLED),
        }
    }

    /// From now on, every answer comes this much later.
    pub(super) fn slow_down(&self, by: Duration) {
        match &self.proxy {
            Some(proxy) => proxy.latency(Direction::ToClient, by, Duration::ZERO),
            None => self.provider.everything(Fault::DelayReply(by)),
        }
    }

    /// Returns everything to normal. Messages that were held back arrive now.
    pub(super) async fn mend(&self) {
        self.provider.clear();
        if let Some(proxy) = &self.proxy {
            proxy.calm().await;
        }
    }

    /// The process is gone: no part of it runs any more, and nothing is released.
    pub(super) async fn crash(&mut self) {
        self.cut_off();
        self.listening.abort();
        if let Some(running) = self.running.take() {
            running.abort();
            drop(running.await);
        }
    }

    /// Stops in good order.
    pub(super) async fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(running) = self.running.take()
            && let Err(error) = running.await
        {
            panic!("it does not stop: {error}");
        }
    }

    /// Half a renewal interval after the newest renewal was sent: none is in flight then.
    pub(super) async fn between_renewals(&self) -> Instant {
        let sent = self.renewed().await;
        sleep(self.voters.lease / 6).await;
        sent
    }
}

/// The work of leaders: continuous work, and a task every half lease.
fn work(election: &Election, voters: &Voters) {
    let stage = voters.stage.clone();
    election.lead(move |leadership: Leadership| {
        let stage = stage.clone();
        async move {
            let _working = stage.work(&leadership);
            leadership.ending().await;
        }
    });
    let (stage, id) = (voters.stage.clone(), election.owner().to_owned());
    election.every("task", voters.lease / 2, move |leadership| {
        stage.as_leader(&leadership);
        stage.ran(&id);
        std::future::ready(())
    });
}

fn listen(election: &Election, told: &Arc<Mutex<Vec<(Instant, Transition)>>>) -> JoinHandle<()> {
    let mut transitions = election.transitions();
    let told = Arc::clone(told);
    crate::spawn(async move {
        while let Some(Next::Transition(transition)) = transitions.next().await {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            told.push((Instant::now(), transition));
        }
    })
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.listening.abort();
        if let Some(running) = &self.running {
            running.abort();
        }
    }
}
