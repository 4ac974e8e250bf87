//! A recorder receives a client's beliefs, in order and once, on the client's own clock.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use dlock_core::{
    Client, Clock, DLock, EndCause, Name, TryAcquire,
    testing::{AcquireEnd, Event, Recorder},
};
use dlock_testkit::memory::{MemoryProvider, MemoryStore};

const LEASE: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Told(Mutex<Vec<(Duration, Event)>>);

impl Recorder for Told {
    fn record(&self, _: &Name, now: Duration, event: Event) {
        self.0.lock().unwrap().push((now, event));
    }
}

impl Told {
    fn take(&self) -> Vec<(Duration, Event)> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn lock(rate: f64) -> (DLock, Arc<Told>) {
    let told = Arc::new(Told::default());
    let provider = MemoryProvider::new(&MemoryStore::store_clock());
    let client = Client::with_clock(provider, Clock::tokio(rate)).recorded(told.clone());
    let lock = DLock::builder()
        .name("told")
        .duration(LEASE)
        .provider(client)
        .build()
        .unwrap();
    (lock, told)
}

#[tokio::test(start_paused = true)]
async fn whole_life_of_a_lease_is_told_in_order() {
    let (lock, told) = lock(1.0);
    let mut lease = lock.acquire().await.unwrap();
    let uuid = lease.uuid();
    tokio::time::advance(Duration::from_secs(1)).await;
    lease.renew().await.unwrap();
    lease.release().await.unwrap();

    let told = told.take();
    let events: Vec<_> = told.iter().map(|(_, event)| event).collect();
    let second = Duration::from_secs(1);
    assert!(
        matches!(
            events[..],
            [
                Event::Built,
                Event::AcquireBegan { call: 0, waits: true, limit: None },
                Event::Tried { uuid: tried, sent: Duration::ZERO, duration: LEASE, prev: None, .. },
                Event::Granted(granted, _, first),
                Event::TryEnded { outcome: "granted", took_over: false },
                Event::AcquireEnded { call: 0, end: AcquireEnd::Granted(delivered, _), .. },
                Event::Renewed { n: 1, believed: renewed, .. },
                Event::Ended { cause: EndCause::Released, .. },
                Event::ReleaseBegan(..),
                Event::ReleaseEnded(.., Ok(_)),
            ] if [*tried, *granted, *delivered] == [uuid; 3]
                && first.valid_until == LEASE.mul_f64(0.8)
                && renewed.sent == second
                && renewed.valid_until == LEASE.mul_f64(0.8) + second
        ),
        "{events:#?}"
    );
    assert!(told.is_sorted_by_key(|(now, _)| *now), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn loss_is_told_once_and_to_who_waits_for_it() {
    let (lock, told) = lock(1.0);
    let lease = lock.acquire().await.unwrap();
    lease.ended().await;
    lease.ended().await;
    assert!(!lease.is_valid());
    drop(lease);
    lock.client().close().await;

    let ends: Vec<_> = told
        .take()
        .into_iter()
        .filter(|(_, event)| matches!(event, Event::Ended { .. } | Event::EndDelivered(..)))
        .collect();
    assert!(
        matches!(
            ends[..],
            [
                (_, Event::Ended { cause: EndCause::Expired { .. }, .. }),
                (at, Event::EndDelivered(..)),
            ] if at < LEASE.mul_f64(0.8) + Duration::from_millis(50)
        ),
        "{ends:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn caller_who_goes_away_is_told() {
    let (lock, told) = lock(1.0);
    let lease = lock.acquire().await.unwrap();
    assert!(matches!(lock.try_acquire().await, Ok(TryAcquire::Held(_))));
    drop(tokio::time::timeout(Duration::from_secs(1), lock.acquire()).await);
    drop(lock.acquire_timeout(Duration::from_secs(1)).await);
    let ends: Vec<_> = told
        .take()
        .into_iter()
        .filter_map(|(_, event)| match event {
            Event::AcquireEnded { call, end, .. } => Some((call, end)),
            _ => None,
        })
        .collect();
    let granted = AcquireEnd::Granted(lease.uuid(), lease.token());
    assert_eq!(
        ends,
        [
            (0, granted),
            (1, AcquireEnd::Held),
            (2, AcquireEnd::Dropped),
            (3, AcquireEnd::TimedOut),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn guard_that_renews_itself_says_so() {
    let (lock, told) = lock(1.0);
    let guard = lock.hold().await.unwrap();
    tokio::time::sleep(LEASE.mul_f64(1.1)).await;
    assert!(guard.is_valid());
    let events = told.take();
    let kept = |event: &Event| matches!(event, Event::KeptAlive(uuid, _) if *uuid == guard.uuid());
    assert_eq!(events.iter().filter(|(_, event)| kept(event)).count(), 1);
    let numbers: Vec<_> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Renewed { n, .. } => Some(*n),
            _ => None,
        })
        .collect();
    // A renewal every third of the lease.
    assert_eq!(numbers, [1, 2, 3]);
}
