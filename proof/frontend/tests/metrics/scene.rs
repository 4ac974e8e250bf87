//! A store in memory, a recorder, and clients in virtual time.

use std::{future::Future, pin::Pin, time::Duration};

use dlock_core::{Client, Clock, DLock, provider::Discipline};
use dlock_proof::metrics::TestRecorder;
use dlock_testkit::{
    faults::Faulty,
    memory::{MemoryProvider, MemoryStore},
};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
/// D of every lock here.
pub(crate) const LEASE: Duration = Duration::from_secs(60);

pub(crate) type Provider = Faulty<MemoryProvider>;
pub(crate) type Story = fn(Scene) -> Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) store: MemoryStore,
    pub(crate) recorder: TestRecorder,
}

/// One process: its provider, its client, and one of its locks.
pub(crate) struct Process {
    pub(crate) provider: Provider,
    pub(crate) client: Client,
    pub(crate) lock: DLock,
}

/// Both disciplines.
pub(crate) fn stores() -> Vec<MemoryStore> {
    [Discipline::StoreClock, Discipline::Observer]
        .map(MemoryStore::new)
        .into()
}

impl Scene {
    pub(crate) fn new(store: MemoryStore) -> Self {
        Self {
            store,
            recorder: TestRecorder::new(),
        }
    }

    /// Another scene with the same recorder, on an empty store.
    pub(crate) fn again(&self) -> Self {
        Self {
            store: MemoryStore::new(self.store.discipline()),
            recorder: self.recorder.clone(),
        }
    }

    /// A process whose metrics carry this group, to distinguish them.
    pub(crate) fn process(&self, group: &str) -> Process {
        self.process_on(group, MemoryProvider::new(&self.store))
    }

    pub(crate) fn process_on(&self, group: &str, provider: MemoryProvider) -> Process {
        let provider = Faulty::new(provider);
        let client = Client::with_clock(provider.clone(), Clock::tokio(1.0));
        let lock = DLock::builder()
            .name("door")
            .duration(LEASE)
            .group(group)
            .provider(&client)
            .build()
            .unwrap();
        Process {
            provider,
            client,
            lock,
        }
    }

    /// A counter's value.
    pub(crate) fn count(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        self.recorder.count(name, labels)
    }

    /// The values of a histogram.
    pub(crate) fn values(&self, name: &str, labels: &[(&str, &str)]) -> Vec<f64> {
        self.recorder.values(name, labels)
    }
}

/// About this many seconds.
#[track_caller]
pub(crate) fn assert_about(values: &[f64], expected: f64) {
    let [value] = values else {
        panic!("one value, not {values:?}");
    };
    assert!((value - expected).abs() < 0.05, "{value}, not {expected}");
}
