//! The means of one operation: a client on the provider, a lock, and the point at which the future under test is
//! dropped.

use std::{fmt::Debug, sync::Arc, time::Duration};

use dlock_core::{Client, Clock, DLock, Guard, Lease, Name, Provider, testing::seeded_client};
use dlock_testkit::faults::{Fault, Faulty, Op};
use tokio::time::sleep;

use super::{
    cut::Cut,
    gate::{Counts, Gate},
};

/// The fate of the calls that an operation sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weather {
    /// Every call is answered.
    Fair,
    /// Requests are applied, and no reply arrives.
    RepliesLost,
    /// No request arrives.
    RequestsLost,
    /// Grants and renewals are applied without a reply, and no release arrives: whatever remains ends only with its
    /// lease.
    NothingReleased,
}

/// One process: the operation's.
pub(super) struct Stage {
    pub(super) client: Client,
    pub(super) lock: DLock,
    /// The names that the operation requests in addition to the lock's.
    pub(super) others: Vec<Name>,
    pub(super) store: Faulty<Gate>,
    pub(super) counts: Arc<Counts>,
    pub(super) cut: Cut,
    pub(super) weather: Weather,
    /// Whether time is paused, so that spans of it can be skipped.
    pub(super) paused: bool,
}

impl Stage {
    pub(super) fn new(
        provider: Arc<dyn Provider>,
        (name, lease): (&Name, Duration),
        cut: Cut,
        weather: Weather,
        paused: bool,
    ) -> Self {
        let gate = Gate::new(provider, 2);
        let counts = gate.counts();
        let store = Faulty::new(gate);
        let client = client(store.clone(), paused, 1);
        Self {
            lock: lock(&client, name, lease, paused),
            others: Vec::new(),
            client,
            store,
            counts,
            cut,
            weather,
            paused,
        }
    }

    /// Drives the future under test to its point. From here on, the scene's weather applies.
    pub(super) async fn cut<F: Future>(&mut self, future: F) -> Option<F::Output> {
        self.break_wire();
        self.cut.drive(future).await
    }

    /// A lease of this process, acquired in fair weather.
    pub(super) async fn lease(&self) -> Lease {
        ok(self.lock.acquire().await)
    }

    /// The same, kept alive.
    pub(super) async fn guard(&self) -> Guard {
        ok(self.lock.hold().await)
    }

    /// A second lock of this process.
    pub(super) fn another(&mut self, name: String) -> DLock {
        let lock = ok(self.lock.named(name));
        self.others.push(lock.name().clone());
        lock
    }

    /// Lets everything happen that needs no time, and in paused time lets a part of the lease pass.
    pub(super) async fn part_of_the_lease(&self) {
        if self.paused {
            sleep(self.lock.duration() / 4).await;
        }
    }

    pub(super) const fn fair(&self) -> bool {
        matches!(self.weather, Weather::Fair)
    }

    /// The wire works again.
    pub(super) fn mend_wire(&self) {
        self.store.clear();
    }

    fn break_wire(&self) {
        match self.weather {
            Weather::Fair => {}
            Weather::RepliesLost => self.store.everything(Fault::LoseReply),
            Weather::RequestsLost => self.store.everything(Fault::LoseRequest),
            Weather::NothingReleased => {
                self.store.everything(Fault::LoseReply);
                self.store.always(Op::Release, Fault::LoseRequest);
            }
        }
    }
}

/// A separate client, on tokio's clock, so that its spans end in the order of the runtime's timers. In paused time, all
/// of its chance follows from the seed, so that every run drops the same futures at the same points.
pub(super) fn client(provider: impl Provider, paused: bool, seed: u64) -> Client {
    let clock = Clock::tokio(1.0);
    if paused {
        seeded_client(provider, clock, seed)
    } else {
        Client::with_clock(provider, clock)
    }
}

pub(super) fn lock(client: &Client, name: &Name, lease: Duration, paused: bool) -> DLock {
    let lock = DLock::builder()
        .name(name.as_str())
        .provider(client)
        .duration(lease);
    if paused {
        ok(lock.build())
    } else {
        // Not every store has wake-ups, and a scene should not wait for long.
        ok(lock.poll_every(Duration::from_millis(50)).build())
    }
}

#[track_caller]
pub(super) fn ok<T, E: Debug>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("this should have succeeded: {error:?}"),
    }
}
