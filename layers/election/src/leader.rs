//! The current leader, as any instance can read it.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use dlock_core::{DLock, Error, FencingToken, ProviderError, Record};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use tracing::Span;

use crate::subscriber;

/// How long an answer of the store is valid for all callers in this process.
const FRESH: Duration = Duration::from_secs(1);

/// The leader, as the store had it at the time of the read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// The leader's [`owner`](crate::ElectionBuilder::owner).
    pub owner: String,
    /// When the leadership began, by the clock of the store or of the leader's host: for people.
    pub since: SystemTime,
    /// The token of the leadership.
    pub token: FencingToken,
    /// The remainder of the lease without a further renewal, as the store says; `None` where no clock of the store
    /// decides. There, a leader that died is shown until another instance has taken over.
    pub remaining: Option<Duration>,
}

/// The newest read of the leader: many callers may ask, and share one read of the store.
pub(crate) struct Lookout {
    newest: Mutex<Option<Look>>,
    /// How often this instance's own leadership has changed: each change makes earlier reads outdated.
    changes: AtomicU64,
}

/// One read of the store, shared by all callers that wait for it. It runs in its own task, so that it continues if the
/// caller that began it goes away.
#[derive(Clone)]
struct Look {
    asked: Instant,
    changes: u64,
    /// The answer; `None` until the store has answered.
    answer: watch::Receiver<Option<Answer>>,
}

/// An error is an answer too: all callers that waited get it.
type Answer = Result<Option<Leader>, Error>;

impl Lookout {
    pub(crate) fn new() -> Self {
        Self {
            newest: Mutex::default(),
            changes: AtomicU64::new(0),
        }
    }

    /// Makes earlier reads outdated.
    pub(crate) fn forget(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// The leader, from a read that is in flight or fresh, or from a new one. Takes a sixth of the lease at most,
    /// however many callers there are. Cancel safe: the read continues.
    pub(crate) async fn look(&self, lock: &DLock) -> Answer {
        let limit = lock.duration() / 6;
        let Look { asked, answer, .. } = self.newest(lock, limit);
        tokio::select! {
            biased;
            answer = answered(answer) => {
                let leader = answer?;
                Ok(leader.and_then(|leader| leader.after(asked.elapsed())))
            }
            // The runtime of the caller that began the read may be blocked.
            () = sleep(limit) => Err(no_answer(limit)),
        }
    }

    /// The read that is valid now; begins one if there is none.
    fn newest(&self, lock: &DLock, limit: Duration) -> Look {
        let changes = self.changes.load(Ordering::SeqCst);
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        match &*newest {
            Some(look) if look.counts(changes, limit) => look.clone(),
            _ => newest.insert(Look::begin(lock, changes)).clone(),
        }
    }
}

impl Look {
    fn begin(lock: &DLock, changes: u64) -> Self {
        let (tell, answer) = watch::channel(None);
        let lock = lock.clone();
        let reading = async move {
            let record = lock.read().await;
            tell.send_replace(Some(record.map(|record| record.and_then(Leader::of))));
        };
        tokio::spawn(subscriber::within(subscriber::span(Span::current), reading));
        Self {
            asked: Instant::now(),
            changes,
            answer,
        }
    }

    /// Whether this read answers callers that ask now.
    fn counts(&self, changes: u64, limit: Duration) -> bool {
        let good_for = match self.answer.borrow().is_some() {
            true => FRESH,
            // If there is no answer by then, there will be none.
            false => limit,
        };
        self.changes == changes && self.asked.elapsed() < good_for
    }
}

async fn answered(mut answer: watch::Receiver<Option<Answer>>) -> Answer {
    match answer.wait_for(Option::is_some).await.as_deref() {
        Ok(Some(answer)) => answer.clone(),
        // The runtime of the caller that began the read has ended.
        _ => Err(ProviderError::unknown("the read was cut off").into()),
    }
}

fn no_answer(limit: Duration) -> Error {
    ProviderError::unknown(format!("no answer within {limit:?}")).into()
}

impl Leader {
    /// The leader that a record shows, if there is one.
    pub(crate) fn of(record: Record) -> Option<Self> {
        (!record.released && record.remaining != Some(Duration::ZERO)).then_some(Self {
            owner: record.owner,
            since: record.since,
            token: record.token,
            remaining: record.remaining,
        })
    }

    /// The same leader after the time `age`, if the store would still show it.
    fn after(mut self, age: Duration) -> Option<Self> {
        if let Some(remaining) = &mut self.remaining {
            *remaining = remaining.checked_sub(age).filter(|left| !left.is_zero())?;
        }
        Some(self)
    }
}
