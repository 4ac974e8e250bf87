//! What people watch: each view is looked at once a second, however many watch it, and not at all while nobody does.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use dlock_core::Name;
use dlock_tasks::{State, TaskId};
use tokio::{sync::watch, time::sleep};

use crate::{names::Namespace, problem::Refusal};

/// How often a view is looked at.
const PERIOD: Duration = Duration::from_secs(1);

/// How many views are looked at in a second; more, and each of them is looked at less often.
const MOST: u32 = 10;

/// A part of the store that can be watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum View {
    Leases {
        namespace: Namespace,
        prefix: String,
        after: Name,
    },
    Tasks {
        namespace: Namespace,
        queue: Option<String>,
        state: Option<State>,
        after: Option<TaskId>,
    },
}

/// What a look has found.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Grows when a look finds something else than the one before.
    pub(crate) version: u64,
    /// JSON.
    pub(crate) found: Result<Arc<str>, Refusal>,
}

pub(crate) type Watcher = watch::Receiver<Option<Seen>>;

type Sender = watch::Sender<Option<Seen>>;

/// The views that somebody watches. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Views(Arc<Mutex<HashMap<View, Weak<Sender>>>>);

impl Views {
    /// What is found by the looks that come. The first one who watches a view brings how to look at it; whoever joins gets
    /// the newest of its looks at once.
    pub(crate) fn watch<Look, Found>(&self, view: View, look: Look) -> Watcher
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
            return watcher;
        }
        let (sender, watcher) = watch::channel(None);
        let sender = Arc::new(sender);
        open.insert(view.clone(), Arc::downgrade(&sender));
        drop(open);
        let views = self.clone();
        drop(tokio::spawn(async move {
            loop {
                let found = look().await.map(Arc::from);
                sender.send_modify(|seen| *seen = Some(Seen::after(seen.as_ref(), found)));
                tokio::select! {
                    () = sleep(views.period()) => {}
                    () = sender.closed() => {}
                }
                if views.close(&view, &sender) {
                    return;
                }
            }
        }));
        watcher
    }

    /// Closes a view that nobody watches. Nobody can join it meanwhile.
    fn close(&self, view: &View, sender: &Sender) -> bool {
        let mut open = self.open();
        let is_over = sender.receiver_count() == 0;
        if is_over {
            open.remove(view);
        }
        is_over
    }

    fn period(&self) -> Duration {
        let views = u32::try_from(self.open().len()).unwrap_or(u32::MAX);
        PERIOD.max(PERIOD / MOST * views)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<View, Weak<Sender>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
