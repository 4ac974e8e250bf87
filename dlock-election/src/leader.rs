//! Who leads, as any instance can know it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use dlock_core::{DLock, Error, FencingToken, Record};
use tokio::{sync::Mutex, time::Instant};

/// How long an answer of the store is good for everybody who asks in this process.
const FRESH: Duration = Duration::from_secs(1);

/// Who leads, as the store had it when it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// The leader's [`id`](crate::ElectionBuilder::id).
    pub id: String,
    /// When the leadership began, by the clock of the store or of whoever wrote it: for people.
    pub since: SystemTime,
    /// The token of the leadership.
    pub token: FencingToken,
    /// What the store says is left of the lease if it is not renewed; `None` where no clock of the
    /// store decides. There a leader that died is shown until somebody has taken over.
    pub remaining: Option<Duration>,
}

/// The newest answer to who leads: many may ask, and the store is asked once.
pub(crate) struct Lookout {
    seen: Mutex<Option<Seen>>,
    /// How often this instance's own leadership has changed: it knows better then.
    changes: AtomicU64,
}

struct Seen {
    asked: Instant,
    changes: u64,
    leader: Option<Leader>,
}

impl Lookout {
    pub(crate) fn new() -> Self {
        Self {
            seen: Mutex::new(None),
            changes: AtomicU64::new(0),
        }
    }

    /// What was seen before is out of date.
    pub(crate) fn forget(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Who leads. Whoever comes while somebody asks waits for that answer. Cancel safe: then the next
    /// one asks.
    pub(crate) async fn look(&self, lock: &DLock) -> Result<Option<Leader>, Error> {
        let mut seen = self.seen.lock().await;
        let (now, changes) = (Instant::now(), self.changes.load(Ordering::SeqCst));
        if let Some(seen) = &*seen
            && seen.changes == changes
            && now - seen.asked < FRESH
        {
            let leader = seen.leader.clone();
            return Ok(leader.and_then(|leader| leader.after(now - seen.asked)));
        }
        let leader = lock.read().await?.and_then(Leader::of);
        *seen = Some(Seen {
            asked: now,
            changes,
            leader: leader.clone(),
        });
        Ok(leader)
    }
}

impl Leader {
    /// The leader that a record shows, if there is one.
    pub(crate) fn of(record: Record) -> Option<Self> {
        (!record.released && record.remaining != Some(Duration::ZERO)).then_some(Self {
            id: record.owner,
            since: record.since,
            token: record.token,
            remaining: record.remaining,
        })
    }

    /// The same so much later, if the store would still show it.
    fn after(mut self, age: Duration) -> Option<Self> {
        if let Some(remaining) = &mut self.remaining {
            *remaining = remaining.checked_sub(age).filter(|left| !left.is_zero())?;
        }
        Some(self)
    }
}
