//! Observations that outlive the process that made them, for programs that ask once and end
//! (O4). This file decides when the folder is asked and for how long; what is in a file, and
//! how files are read and written, is left to others.
//!
//! # Why an instant of another process is a ground for a claim
//! A holder believes in version (uuid, n) until `sent` + D x (1 - margin) of renewal n, and `sent`
//! is before the version's first sight. So once D has passed since *anybody* saw it, nobody acts on
//! it any more, whatever happened in between; and A6 takes the record only if it still is that
//! version. What has to be right is therefore the instant: taken after the reply that showed the
//! version (it is the client's own observation that is kept), and on a clock whose readings mean the
//! same to the later process (`Clock::origin`). A wrong, old or missing file costs time; one that
//! shows another version, another origin or an instant in the future counts for nothing.

mod folder;
mod sight;
#[cfg(test)]
mod tests;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Semaphore, task::spawn_blocking};

use self::{folder::Folder, sight::Sight};
use crate::{Clock, Name, provider::Version, time::ContenderInstant};

/// The longest that a reply waits for the folder, however long the lease: a disk answers in milliseconds, and
/// one that hangs must not hold up the store's answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// The folder in which one client keeps its observations of one store.
pub(crate) struct Observations {
    folder: Arc<Folder>,
    /// One thread at a time: a disk that hangs takes one thread and no more.
    turn: Arc<Semaphore>,
    /// A caller waited in vain. No other waits until the turn is free again.
    hangs: AtomicBool,
}

impl Observations {
    pub(crate) fn new(folder: PathBuf, store: String) -> Self {
        Self {
            folder: Arc::new(Folder::new(folder, store)),
            turn: Arc::new(Semaphore::new(1)),
            hangs: AtomicBool::new(false),
        }
    }

    /// Keeps when this version was first seen, unless an instant for it is kept already. Returns the one kept, or
    /// `None` if the folder does not answer in time; the exchange then runs to its end in the background.
    pub(crate) async fn exchange(
        &self,
        clock: &Clock,
        name: &Name,
        version: Version,
        first: ContenderInstant,
        limit: Duration,
    ) -> Option<ContenderInstant> {
        let (seen, limit) = (Sight { version, first }, limit.min(PATIENCE));
        if self.hangs.load(Ordering::SeqCst) && self.turn.available_permits() == 0 {
            return None;
        }
        self.hangs.store(false, Ordering::SeqCst);
        let work = async {
            let turn = Arc::clone(&self.turn).acquire_owned().await;
            let (folder, clock, name) = (Arc::clone(&self.folder), clock.clone(), name.clone());
            spawn_blocking(move || {
                let first = folder.exchange(&clock, &name, seen);
                drop(turn);
                first
            })
            .await
        };
        let problem = tokio::select! {
            biased;
            done = work => match done {
                Ok(Ok(first)) => return Some(first),
                Ok(Err(error)) => error.to_string(),
                Err(ended) => ended.to_string(),
            },
            () = clock.pause(limit) => {
                self.hangs.store(true, Ordering::SeqCst);
                format!("no answer within {limit:?}")
            }
        };
        tracing::warn!(
            name: "observation_not_kept",
            lock = %name,
            folder = %self.folder.path().display(),
            problem,
            "what was seen of a lock is not kept for processes to come"
        );
        None
    }
}
