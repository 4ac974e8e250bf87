//! Instances of a service over a store in memory.

use std::time::Duration;

use dlock_core::{Client, Clock};
use dlock_election::{Coordinator, Election};
use dlock_testkit::{
    faults::Faulty,
    memory::{MemoryProvider, MemoryStore},
};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep},
};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const NAME: &str = "background";

pub(crate) struct Instance {
    pub(crate) election: Election,
    pub(crate) provider: Faulty<MemoryProvider>,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
}

impl Instance {
    pub(crate) fn new(store: &MemoryStore, id: &str) -> Self {
        Self::with(store, |client| {
            let election = Election::builder().provider(client).name(NAME).owner(id);
            election.build().unwrap()
        })
    }

    pub(crate) fn never_leads(store: &MemoryStore) -> Self {
        Self::with(store, |client| {
            let election = Election::builder()
                .provider(client)
                .name(NAME)
                .never_lead(true);
            election.build().unwrap()
        })
    }

    fn with(store: &MemoryStore, build: impl FnOnce(Client) -> Election) -> Self {
        let provider = Faulty::new(MemoryProvider::new(store));
        let client = Client::with_clock(provider.clone(), Clock::tokio(1.0));
        Self {
            election: build(client),
            provider,
            stop: None,
            running: None,
        }
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

    pub(crate) async fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(running) = self.running.take() {
            running.await.unwrap();
        }
    }
}

/// Waits in virtual time until the condition holds, for at most this long.
#[track_caller]
pub(crate) fn until(limit: Duration, mut so: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let started = Instant::now();
        while !so() {
            assert!(started.elapsed() < limit, "{caller}: not within {limit:?}");
            sleep(Duration::from_millis(10)).await;
        }
    }
}
