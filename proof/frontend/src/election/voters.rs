//! The means of a story: the store, and the work of its instances, seen from outside.

use std::{
    fmt,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    FencingToken,
    provider::{Admin, Discipline},
};
use dlock_election::Leadership;
use dlock_testkit::slow::in_time;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{Electorate, instance::Instance};

/// The electorate of one round of a story: its own election, and a lease.
#[derive(Clone)]
pub struct Voters {
    pub(super) electorate: Arc<dyn Erased>,
    pub(super) name: String,
    pub(super) lease: Duration,
    pub(super) stage: Stage,
}

/// The work of the leaders.
#[derive(Clone, Default)]
pub(super) struct Stage(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    /// The leaderships under which work is in progress.
    working: Vec<Leadership>,
    /// How often work was done while another instance led.
    wrong: usize,
    /// How often work was done after a leadership had ended, with no other one valid.
    late: usize,
    runs: Vec<(String, Instant)>,
}

impl Voters {
    pub(super) fn new(electorate: Arc<dyn Erased>, story: &str, lease: Duration) -> Self {
        Self {
            electorate,
            name: format!("{story}/{}", Uuid::new_v4().simple()),
            lease,
            stage: Stage::default(),
        }
    }

    /// The same with leases `times` as long: for stories in which no instance waits for their end.
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

    /// An instance that takes part.
    pub(super) async fn instance(&self, id: &str) -> Instance {
        Instance::start(self, id).await
    }

    /// How often a follower tries.
    pub(super) fn attempts(&self) -> Duration {
        self.lease / 2
    }

    /// How much round trips, timers and a busy machine may add to a bound.
    pub(super) fn slack(&self) -> Duration {
        self.lease / 5
    }

    /// I15: how long after the sending of a leader's last renewal another instance leads, at most.
    pub(super) fn failover(&self, discipline: Discipline) -> Duration {
        let jitter = (self.lease / 10).min(Duration::from_millis(50));
        let found = match discipline {
            Discipline::StoreClock => Duration::ZERO,
            // The last renewal may be seen an attempt interval late, which has its own jitter.
            Discipline::Observer => self.attempts() + self.attempts() / 5,
        };
        self.lease + found + jitter + self.slack()
    }

    /// How long after its last good renewal was sent the leader resigns on its own (V1).
    pub(super) fn validity(&self) -> Duration {
        self.lease * 4 / 5
    }
}

impl Stage {
    /// An instance works until the returned value is dropped.
    pub(super) fn work(&self, leadership: &Leadership) -> Working {
        self.as_leader(leadership);
        self.seen().working.push(leadership.clone());
        Working(self.clone(), leadership.token())
    }

    pub(super) fn working(&self) -> usize {
        self.seen().working.len()
    }

    /// No instance ever worked while another one led, or after its leadership had ended.
    pub(super) fn is_sound(&self) {
        let seen = self.seen();
        assert_eq!(
            seen.wrong, 0,
            "something was done while another instance led"
        );
        in_time(seen.late == 0, "the end of what a former leader did");
    }

    /// Work at this instant is right only for a leader, and only for one.
    pub(super) fn as_leader(&self, leadership: &Leadership) {
        let mut seen = self.seen();
        let others = seen.working.iter();
        let others = others.filter(|other| other.token() != leadership.token());
        let led: Vec<bool> = others.map(Leadership::is_valid).collect();
        seen.wrong += usize::from(led.contains(&true));
        seen.late += usize::from(!led.is_empty() || !leadership.is_valid());
    }

    pub(super) fn ran(&self, who: &str) {
        self.seen().runs.push((who.to_owned(), Instant::now()));
    }

    /// Every run of the periodic task.
    pub(super) fn runs(&self) -> Vec<(String, Instant)> {
        self.seen().runs.clone()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An instance at work.
pub(super) struct Working(Stage, FencingToken);

impl Drop for Working {
    fn drop(&mut self) {
        let mut seen = self.0.seen();
        seen.working
            .retain(|leadership| leadership.token() != self.1);
    }
}

/// Waits until the condition holds, for at most this long.
pub(super) async fn until(what: &str, limit: Duration, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        in_time(
            began.elapsed() < limit,
            format_args!("{what}: not within {limit:?}"),
        );
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
