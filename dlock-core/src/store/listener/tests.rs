//! Channels that open, fail and end, and their listeners.

use std::{
    future::pending,
    sync::{Mutex, atomic::AtomicUsize},
};

use async_trait::async_trait;
use tokio::{runtime::Builder, task::yield_now};

use super::*;
use crate::{
    Client, Clock, Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Release, ReleaseOutcome, Renew,
        RenewOutcome, WakeupSender, Wakeups,
    },
    time::{ManualClock, plan_of},
};

const LEASE: Duration = Duration::from_secs(60);
const MILLISECOND: Duration = Duration::from_millis(1);

/// The channels of a store.
#[derive(Default)]
struct Channels {
    /// How often a channel was asked for.
    asked: AtomicUsize,
    broken: AtomicBool,
    open: Mutex<Vec<WakeupSender>>,
}

impl Channels {
    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// A store of which only the channels are used.
struct Watched {
    channels: Arc<Channels>,
    watch: bool,
}

#[async_trait]
impl Provider for Watched {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("watched", Discipline::StoreClock).watch(self.watch)
    }

    async fn acquire(&self, _: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        pending().await
    }

    async fn renew(&self, _: &Renew) -> Result<RenewOutcome, ProviderError> {
        pending().await
    }

    async fn release(&self, _: &Release) -> Result<ReleaseOutcome, ProviderError> {
        pending().await
    }

    async fn read(&self, _: &Name) -> Result<Option<Record>, ProviderError> {
        pending().await
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.channels.asked.fetch_add(1, Ordering::SeqCst);
        if self.channels.broken.load(Ordering::SeqCst) {
            return Err(ProviderError::unknown("on purpose"));
        }
        let (sender, wakeups) = Wakeups::channel(1);
        self.channels.open.lock().unwrap().push(sender);
        Ok(Some(wakeups))
    }
}

/// A client's side of a store with or without wake-ups, the store's channels, and the client's clock.
fn scene(watch: bool) -> (Arc<Store>, Arc<Channels>, ManualClock) {
    let (clock, hand) = Clock::manual();
    let channels = Arc::<Channels>::default();
    let provider = Watched {
        channels: Arc::clone(&channels),
        watch,
    };
    (Client::with_clock(provider, clock).0, channels, hand)
}

/// A waiter of a lock that wants wake-ups has come, and everything has happened that needs no time.
async fn waiter(store: &Arc<Store>) {
    ensure(store, &plan_of(LEASE));
    settle().await;
}

async fn settle() {
    for _ in 0..50 {
        yield_now().await;
    }
}

#[tokio::test]
async fn one_task_listens_where_there_are_wakeups_and_somebody_wants_them() {
    for (has, wants) in [(true, true), (true, false), (false, true), (false, false)] {
        let (store, channels, _hand) = scene(has);
        let plan = Plan {
            wakeups: wants,
            ..plan_of(LEASE)
        };
        for _ in 0..3 {
            ensure(&store, &plan);
            settle().await;
        }
        assert_eq!(channels.asked(), usize::from(has && wants));
    }
}

#[tokio::test]
async fn channel_that_does_not_open_is_asked_for_again_after_a_pause() {
    let (store, channels, hand) = scene(true);
    channels.broken.store(true, Ordering::SeqCst);
    waiter(&store).await;
    assert_eq!(channels.asked(), 1);
    // A tenth of a second, and up to half of that more or less.
    hand.advance(49 * MILLISECOND);
    settle().await;
    assert_eq!(channels.asked(), 1);
    hand.advance(101 * MILLISECOND);
    settle().await;
    assert_eq!(channels.asked(), 2);
}

#[test]
fn next_waiter_listens_after_the_runtime_of_the_first_has_ended() {
    let (store, channels, _hand) = scene(true);
    for times in 1..=3 {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(waiter(&store));
        assert_eq!(channels.asked(), times);
    }
}

#[tokio::test]
async fn listener_ends_with_its_client() {
    let (store, channels, _hand) = scene(true);
    waiter(&store).await;
    let sender = channels.open.lock().unwrap().remove(0);
    assert!(!sender.is_closed());
    drop(store);
    settle().await;
    assert!(sender.is_closed());
}
