//! Instances of one service over a store in memory, in virtual time.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{Client, Clock, provider::Discipline};
use dlock_election::{Coordinator, Election, Leadership, Next, Transition, Transitions};
use dlock_testkit::{
    faults::{Faulty, Op},
    memory::{MemoryProvider, MemoryStore},
};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep},
};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const NAME: &str = "background";
pub(crate) type Provider = Faulty<MemoryProvider>;

/// The work of the leaders of one service, seen from outside.
#[derive(Clone, Default)]
pub(crate) struct Stage(Arc<Seen>);

#[derive(Default)]
struct Seen {
    working: AtomicUsize,
    most: AtomicUsize,
    runs: Mutex<Vec<(String, Instant)>>,
}

impl Stage {
    /// The largest number that ever worked at one instant.
    pub(crate) fn most(&self) -> usize {
        self.0.most.load(Ordering::SeqCst)
    }

    pub(crate) fn working(&self) -> usize {
        self.0.working.load(Ordering::SeqCst)
    }

    pub(crate) fn runs(&self) -> Vec<(String, Instant)> {
        self.0.runs.lock().unwrap().clone()
    }

    pub(crate) fn ran(&self, who: &str) {
        let run = (who.to_owned(), Instant::now());
        self.0.runs.lock().unwrap().push(run);
    }

    /// An instance works until the returned value is dropped.
    pub(crate) fn work(&self) -> Working {
        let working = self.0.working.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most.fetch_max(working, Ordering::SeqCst);
        Working(self.clone())
    }
}

pub(crate) struct Working(Stage);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.0.working.fetch_sub(1, Ordering::SeqCst);
    }
}

/// One instance of the service.
pub(crate) struct Instance {
    pub(crate) election: Election,
    pub(crate) provider: Provider,
    pub(crate) transitions: Transitions,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
}

impl Instance {
    /// An instance with the defaults, on a machine whose clock runs at this rate. It does not run yet.
    pub(crate) fn new(store: &MemoryStore, id: &str, rate: f64) -> Self {
        Self::built(MemoryProvider::new(store), rate, |client| {
            Election::builder()
                .provider(client)
                .name(NAME)
                .owner(id)
                .build()
                .unwrap()
        })
    }

    /// An instance on a store with wake-ups or without, in its own election.
    pub(crate) fn woken(store: &MemoryStore, id: &str, wakeups: bool) -> Self {
        let provider = MemoryProvider::new(store).wakeups(wakeups);
        Self::built(provider, 1.0, |client| {
            Election::builder()
                .provider(client)
                .name(format!("{NAME} {wakeups}"))
                .owner(id)
                .build()
                .unwrap()
        })
    }

    pub(crate) fn built(
        provider: MemoryProvider,
        rate: f64,
        build: impl FnOnce(Client) -> Election,
    ) -> Self {
        let provider = Faulty::new(provider);
        let client = Client::with_clock(provider.clone(), Clock::tokio(rate));
        let election = build(client);
        let transitions = election.transitions();
        Self {
            election,
            provider,
            transitions,
            stop: None,
            running: None,
        }
    }

    /// Adds work that the stage observes.
    pub(crate) fn on(self, stage: &Stage) -> Self {
        let stage = stage.clone();
        self.election.lead(move |leadership: Leadership| {
            let stage = stage.clone();
            async move {
                let _working = stage.work();
                assert!(leadership.is_valid());
                std::future::pending::<()>().await;
            }
        });
        self
    }

    pub(crate) fn start(mut self) -> Self {
        let (stop, stopped) = oneshot::channel();
        let election = self.election.clone();
        self.stop = Some(stop);
        self.running = Some(tokio::spawn(async move {
            let shutdown = Box::pin(async move { drop(stopped.await) });
            election.run(shutdown).await.unwrap();
        }));
        self
    }

    /// Kills the process: no part of it runs any more, and it releases nothing.
    pub(crate) async fn crash(&mut self) {
        // Its requests no longer arrive from now on.
        self.provider
            .everything(dlock_testkit::faults::Fault::LoseRequest);
        if let Some(running) = self.running.take() {
            running.abort();
            drop(running.await);
        }
    }

    /// Stops in good order.
    pub(crate) async fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(running) = self.running.take() {
            running.await.unwrap();
        }
    }

    /// The transitions so far, as words.
    pub(crate) async fn told(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        loop {
            tokio::select! {
                biased;
                next = self.transitions.next() => told.push(match next {
                    Some(Next::Transition(Transition::Gained { .. })) => "gained".into(),
                    Some(Next::Transition(Transition::Unsure { .. })) => "unsure".into(),
                    Some(Next::Transition(Transition::Recovered { .. })) => "recovered".into(),
                    Some(Next::Transition(Transition::Lost { loss })) => format!("lost: {}", loss.cause),
                    Some(Next::Transition(Transition::Resigned { reason, .. })) => format!("resigned: {reason:?}"),
                    Some(Next::Transition(Transition::Ineligible { error })) => format!("ineligible: {error}"),
                    other => format!("{other:?}"),
                }),
                () = tokio::task::yield_now() => return told,
            }
        }
    }
}

/// Both disciplines, wake-ups or not.
pub(crate) fn stores() -> [MemoryStore; 2] {
    [Discipline::StoreClock, Discipline::Observer].map(MemoryStore::new)
}

/// The instant at which the newest renewal left.
pub(crate) fn newest(leader: &Instance) -> Instant {
    let calls = leader.provider.calls();
    let mut renewals = calls.iter().filter(|call| call.op == Op::Renew);
    renewals.next_back().unwrap().began
}

/// Waits in virtual time until the condition holds, for at most this long. Returns how long it took.
pub(crate) async fn until(limit: Duration, mut so: impl FnMut() -> bool) -> Duration {
    let started = Instant::now();
    while !so() {
        assert!(started.elapsed() < limit, "not within {limit:?}");
        sleep(Duration::from_millis(10)).await;
    }
    started.elapsed()
}
