//! Recorders and subscribers may panic: that loses no lease, no release and no waiter.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Client, Clock, DLock, Name, Provider, ReleaseEnd,
    provider::Release,
    testing::{Event as Told, Recorder},
};
use dlock_testkit::memory::{MemoryProvider, MemoryStore};
use tokio::time::sleep;
use tracing::{
    Event, Metadata, Subscriber,
    span::{Attributes, Id, Record},
};

const LEASE: Duration = Duration::from_secs(6);

/// Panics at every event.
struct Panics;

impl Recorder for Panics {
    fn record(&self, _: &Name, _: Duration, event: Told) {
        panic!("on purpose, at {event:?}");
    }
}

impl Subscriber for Panics {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("dlock_core")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {
        panic!("on purpose, at a field");
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        panic!("on purpose, at {}", event.metadata().name());
    }

    fn enter(&self, _: &Id) {
        panic!("on purpose, at the beginning of a span");
    }

    fn exit(&self, _: &Id) {
        panic!("on purpose, at the end of a span");
    }

    fn try_close(&self, _: Id) -> bool {
        panic!("on purpose, at the last of a span");
    }
}

/// Three leases are renewed together. One is taken away, and one reaches its longest hold: the third continues to be
/// renewed, is released, and goes to the next waiter.
async fn third_lease_lives_on(client: Client, provider: MemoryProvider) {
    let lock = |name: &str| {
        let lock = DLock::builder().name(name).provider(&client);
        lock.duration(LEASE)
    };
    let taken = lock("taken").build().unwrap().hold().await.unwrap();
    let long = lock("long").max_hold(2 * LEASE).build().unwrap();
    let long = long.hold().await.unwrap();
    let kept_lock = lock("kept").build().unwrap();
    let kept = kept_lock.hold().await.unwrap();
    let release = Release::new(Name::new("taken").unwrap(), taken.uuid(), None);
    provider.release(&release).await.unwrap();
    sleep(5 * LEASE).await;
    assert!(!taken.is_valid() && !long.is_valid());
    assert!(kept.is_valid(), "{:?}", kept.state());
    let next = tokio::spawn(async move { kept_lock.acquire().await.unwrap() });
    sleep(LEASE / 10).await;
    assert_eq!(kept.release().await.unwrap(), ReleaseEnd::Released);
    let next = next.await.unwrap();
    assert_eq!(next.release().await.unwrap(), ReleaseEnd::Released);
    assert_eq!(client.close().await, 2, "those that were lost");
}

fn client() -> (Client, MemoryProvider) {
    let provider = MemoryProvider::new(&MemoryStore::store_clock());
    let client = Client::with_clock(provider.clone(), Clock::tokio(1.0));
    (client, provider)
}

#[tokio::test(start_paused = true)]
async fn recorder_that_panics_costs_no_lease() {
    let (client, provider) = client();
    third_lease_lives_on(client.recorded(Arc::new(Panics)), provider).await;
}

#[tokio::test(start_paused = true)]
async fn subscriber_that_panics_costs_no_lease() {
    let _watching = tracing::subscriber::set_default(Panics);
    let (client, provider) = client();
    third_lease_lives_on(client, provider).await;
}
