//! Watched views: each view is read once a second, however many watch it, and not at all while it has no watcher. A
//! read that takes long is followed by a rest, so that the store has time for working clients.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use dlock_core::Name;
use dlock_http::Code;
use dlock_tasks::{State, TaskId};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep},
};

use crate::{measure, names::Namespace, problem::Refusal, store_calls::Class};

/// How often a view is read.
const PERIOD: Duration = Duration::from_secs(1);

/// How often the tasks are counted, for which most stores read all of them.
const PERIOD_OF_COUNTS: Duration = Duration::from_secs(5);

/// After a read, a view is left alone for this many times the duration of the read.
const REST: u32 = 20;

/// After a read without an answer, it is left alone no longer than this: a page soon shows that the store is back.
const REST_AFTER_PROBLEM: Duration = Duration::from_secs(30);

/// How many views are read per second; if there are more, each of them is read less often.
const MOST: u32 = 10;

/// A part of the store that can be watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum View {
    Leases {
        namespace: Namespace,
        prefix: String,
        after: Name,
        elections: bool,
    },
    Tasks {
        namespace: Namespace,
        queue: Option<String>,
        state: Option<State>,
        after: Option<TaskId>,
    },
    /// How many tasks of each queue are in each state, in all namespaces.
    Counts,
}

/// The result of a read.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Grows when a read finds something other than the one before.
    pub(crate) version: u64,
    /// JSON.
    pub(crate) found: Result<Arc<str>, Refusal>,
}

pub(crate) type Watcher = watch::Receiver<Option<Seen>>;

type Sender = watch::Sender<Option<Seen>>;

/// A place among the streams.
pub(crate) type Place = OwnedSemaphorePermit;

/// The views that have watchers, or had one until just now. Clones are the same.
#[derive(Clone)]
pub(crate) struct Views(Arc<Shared>);

struct Shared {
    /// Streams at a time.
    most: usize,
    room: Arc<Semaphore>,
    open: Mutex<HashMap<View, Weak<Sender>>>,
}

impl Views {
    /// Views with room for this many streams.
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Shared {
            most,
            room: Arc::new(Semaphore::new(most)),
            open: Mutex::default(),
        }))
    }

    /// The maximum number of views.
    pub(crate) fn most(&self) -> usize {
        2 * self.0.most + 16
    }

    /// A place for one more stream.
    pub(crate) fn enter(&self) -> Result<Place, Refusal> {
        let room = Arc::clone(&self.0.room).try_acquire_owned();
        room.map_err(|_| no_room())
    }

    /// The results of the coming reads. The first watcher of a view brings the way to read it; a later one gets the
    /// newest result at once. A view is kept until its next read is due: if it is opened again before that, it is not
    /// read sooner. Its first watcher also brings a part that is dropped when the view is closed: a client that opens
    /// and leaves many views occupies them until then.
    pub(crate) fn watch<Look, Found>(
        &self,
        view: View,
        part: impl Send + 'static,
        look: Look,
    ) -> Result<Watcher, Refusal>
    where
        Look: Fn() -> Found + Send + Sync + 'static,
        Found: Future<Output = Result<String, Refusal>> + Send,
    {
        let mut open = self.open();
        if let Some(sender) = open.get(&view).and_then(Weak::upgrade) {
            let mut watcher = sender.subscribe();
            if watcher.borrow().is_some() {
                watcher.mark_changed();
            }
            return Ok(watcher);
        }
        // Kept views are no reason to refuse one, unless a client opens and leaves very many.
        if open.len() >= self.most() {
            return Err(no_room());
        }
        let (sender, watcher) = watch::channel(None);
        let sender = Arc::new(sender);
        open.insert(view.clone(), Arc::downgrade(&sender));
        drop(open);
        let views = self.clone();
        drop(tokio::spawn(async move {
            let _part = part;
            loop {
                let start = Instant::now();
                let found = look().await.map(Arc::from);
                let rest = REST * start.elapsed();
                let rest = match &found {
                    Ok(_) => rest,
                    Err(_) => rest.min(REST_AFTER_PROBLEM),
                };
                sender.send_modify(|seen| *seen = Some(Seen::after(seen.as_ref(), found)));
                sleep(views.period(&view).max(rest)).await;
                if views.close(&view, &sender) {
                    return;
                }
            }
        }));
        Ok(watcher)
    }

    /// Closes a view that has no watcher. No watcher can join it meanwhile.
    fn close(&self, view: &View, sender: &Sender) -> bool {
        let mut open = self.open();
        let is_over = sender.receiver_count() == 0;
        if is_over {
            open.remove(view);
        }
        is_over
    }

    fn period(&self, view: &View) -> Duration {
        let least = match view {
            View::Leases { .. } | View::Tasks { .. } => PERIOD,
            View::Counts => PERIOD_OF_COUNTS,
        };
        let views = u32::try_from(self.open().len()).unwrap_or(u32::MAX);
        least.max(PERIOD / MOST * views)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<View, Weak<Sender>>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn no_room() -> Refusal {
    measure::shed(Class::List.name());
    Code::Overloaded.into()
}

impl Seen {
    fn after(before: Option<&Self>, found: Result<Arc<str>, Refusal>) -> Self {
        let is_same = |before: &&Self| match (&before.found, &found) {
            (Ok(before), Ok(now)) => before == now,
            (Err(Refusal(before)), Err(Refusal(now))) => before == now,
            _ => false,
        };
        let version = match before {
            Some(same) if is_same(&same) => same.version,
            Some(other) => other.version + 1,
            None => 1,
        };
        Self { version, found }
    }
}

#[cfg(test)]
mod tests;
