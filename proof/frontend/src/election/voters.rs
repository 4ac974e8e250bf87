//! What a story works with: the store, and what its instances do, seen from outside.

use std::{
    fmt,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Name,
    provider::{Admin, Discipline},
};
use dlock_election::Leadership;
use dlock_testkit::stall::Lag;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{Electorate, instance::Instance};

/// The electorate of one round of a story: an election of its own, and a lease.
#[derive(Clone)]
pub struct Voters {
    pub(super) electorate: Arc<dyn Erased>,
    pub(super) name: String,
    pub(super) lease: Duration,
    pub(super) stage: Stage,
    pub(super) lag: Lag,
}

/// What the leaders do.
#[derive(Clone, Default)]
pub(super) struct Stage(Arc<Seen>);

#[derive(Default)]
struct Seen {
    working: AtomicUsize,
    most: AtomicUsize,
    /// What was done without leading.
    wrong: AtomicUsize,
    runs: Mutex<Vec<(String, Instant)>>,
}

impl Voters {
    pub(super) fn new(electorate: Arc<dyn Erased>, story: &str, lease: Duration, lag: Lag) -> Self {
        Self {
            electorate,
            name: format!("{story}/{}", Uuid::new_v4().simple()),
            lease,
            stage: Stage::default(),
            lag,
        }
    }

    /// The same with leases so many times as long: where nobody waits for their end.
    pub(super) fn longer(&self, times: u32) -> Self {
        Self {
            lease: self.lease * times,
            ..self.clone()
        }
    }

    /// Whether the store has wake-ups.
    pub(super) async fn wakes(&self) -> bool {
        let address = self.electorate.server();
        let provider = self.electorate.provider(address, self.lease).await;
        provider.capabilities().watch
    }

    /// Asks the store something, in a new connection.
    pub(super) async fn ask(&self) {
        let address = self.electorate.server();
        let provider = self.electorate.provider(address, 20 * self.lease).await;
        if let Ok(name) = Name::new(self.name.as_str()) {
            drop(provider.read(&name).await);
        }
    }

    /// An instance that takes part.
    pub(super) async fn instance(&self, id: &str) -> Instance {
        Instance::start(self, id).await
    }

    /// How often a follower asks.
    pub(super) fn attempts(&self) -> Duration {
        self.lease / 2
    }

    /// What round trips, timers and a busy machine may add to a bound.
    pub(super) fn slack(&self) -> Duration {
        self.lease / 5
    }

    /// I15: how long after the departure of a leader's last renewal another one leads, at most.
    pub(super) fn failover(&self, discipline: Discipline) -> Duration {
        let jitter = (self.lease / 10).min(Duration::from_millis(50));
        let found = match discipline {
            Discipline::StoreClock => Duration::ZERO,
            // The last renewal may be seen an attempt interval late, which has its own jitter.
            Discipline::Observer => self.attempts() + self.attempts() / 5,
        };
        self.lease + found + jitter + self.slack()
    }

    /// When the leader gives up by itself, after its last good renewal has left (V1).
    pub(super) fn validity(&self) -> Duration {
        self.lease * 4 / 5
    }
}

impl Stage {
    /// Somebody works until what this returns is dropped.
    pub(super) fn work(&self) -> Working {
        let working = self.0.working.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most.fetch_max(working, Ordering::SeqCst);
        Working(self.clone())
    }

    pub(super) fn working(&self) -> usize {
        self.0.working.load(Ordering::SeqCst)
    }

    /// Nobody ever worked beside another, or as a follower.
    pub(super) fn is_sound(&self) {
        let most = self.0.most.load(Ordering::SeqCst);
        assert!(most <= 1, "{most} instances worked at one instant");
        let wrong = self.0.wrong.load(Ordering::SeqCst);
        assert_eq!(wrong, 0, "something was done by a follower");
    }

    /// What is done now is right only of a leader.
    pub(super) fn as_leader(&self, leadership: &Leadership) {
        let wrong = usize::from(!leadership.is_valid());
        self.0.wrong.fetch_add(wrong, Ordering::SeqCst);
    }

    pub(super) fn ran(&self, who: &str) {
        self.list().push((who.to_owned(), Instant::now()));
    }

    /// Every run of the periodic task.
    pub(super) fn runs(&self) -> Vec<(String, Instant)> {
        self.list().clone()
    }

    fn list(&self) -> MutexGuard<'_, Vec<(String, Instant)>> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody works.
pub(super) struct Working(Stage);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.0.working.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits until it is so, and fails the story if that takes longer.
pub(super) async fn until(what: &str, limit: Duration, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < limit, "{what}: not within {limit:?}");
        sleep(Duration::from_millis(2)).await;
    }
}

/// A fixture without its type, so that the stories are compiled once.
#[async_trait]
pub(super) trait Erased: Send + Sync {
    fn server(&self) -> Option<SocketAddr>;
    async fn provider(&self, address: Option<SocketAddr>, limit: Duration) -> Arc<dyn Admin>;
}

pub(super) struct Erase<E>(pub(super) E);

#[async_trait]
impl<E: Electorate> Erased for Erase<E> {
    fn server(&self) -> Option<SocketAddr> {
        self.0.server()
    }

    async fn provider(&self, address: Option<SocketAddr>, limit: Duration) -> Arc<dyn Admin> {
        Arc::new(self.0.provider(address, limit).await)
    }
}

impl fmt::Debug for Voters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Voters")
            .field("name", &self.name)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}
