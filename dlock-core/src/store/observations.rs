//! Observations that outlive the process that made them, for programs that try once and exit (O4). This file decides
//! when the place for them is queried, for how long, and what counts; the place decides where the texts are kept.
//!
//! # Why an instant of another process justifies a claim
//! A holder believes in version (uuid, n) until `sent` + D x (1 - margin) of renewal n, and `sent` is before the
//! version's first sight. So once D has passed since *any* client saw it, no holder acts on it any more, whatever
//! happened in between; and A6 takes the record only if it is still that version. Therefore the instant has to be
//! right: taken after the reply that showed the version (it is the client's own observation that is kept), and on a
//! clock whose readings mean the same to the later process (`Clock::origin`). A wrong, old or missing text costs
//! time; one that shows another version, another origin or an instant in the future counts for nothing.

mod first_seen;
#[cfg(test)]
mod tests;

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Semaphore, task::spawn_blocking};

use self::first_seen::FirstSeen;
use crate::{Clock, Name, provider::Version, time::ContenderInstant};

/// A place where the observations of a client outlive its process, with a text of some 300 bytes for each lock; see
/// [`Client::observations`](crate::Client::observations). Both functions may block: they run on Tokio's threads for
/// blocking work, one call at a time.
///
/// The place decides nothing. A text that is lost, old or damaged in any byte costs time, and so does one that
/// another process replaced in between. But keep the place from people who may not take the locks, and from other
/// machines, including clones of a virtual machine: with a forged instant a live lock can be taken.
pub trait Observations: fmt::Debug + Send + Sync + 'static {
    /// The text that was stored last for this lock, if it is still there; a damaged text is returned as it is.
    ///
    /// # Errors
    /// The place could not be read. Nothing is stored then.
    fn load(&self, lock: &Name) -> io::Result<Option<String>>;

    /// Keeps the text for this lock and replaces any earlier one.
    ///
    /// # Errors
    /// The text may not have been kept.
    fn store(&self, lock: &Name, text: &str) -> io::Result<()>;
}

/// The longest that a reply waits for the place, however long the lease: a disk answers in milliseconds, and
/// one that hangs must not hold up the store's answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Keeps the observations of one client.
pub(crate) struct Keeper {
    place: Arc<dyn Observations>,
    /// One thread at a time: a disk that hangs takes one thread and no more.
    turn: Arc<Semaphore>,
    /// A caller waited without success. No other caller waits until the turn is free again.
    hangs: AtomicBool,
}

impl Keeper {
    pub(crate) fn new(place: impl Observations) -> Self {
        Self {
            place: Arc::new(place),
            turn: Arc::new(Semaphore::new(1)),
            hangs: AtomicBool::new(false),
        }
    }

    /// Keeps when this version was first seen, unless an instant for it is kept already. Returns the one kept, or
    /// `None` if the place does not answer in time; the exchange then runs to its end in the background.
    pub(crate) async fn exchange(
        &self,
        clock: &Clock,
        name: &Name,
        version: Version,
        first: ContenderInstant,
        limit: Duration,
    ) -> Option<ContenderInstant> {
        let (seen, limit) = (FirstSeen { version, first }, limit.min(PATIENCE));
        if self.hangs.load(Ordering::SeqCst) && self.turn.available_permits() == 0 {
            return None;
        }
        self.hangs.store(false, Ordering::SeqCst);
        let work = async {
            let turn = Arc::clone(&self.turn).acquire_owned().await;
            let (place, clock, name) = (Arc::clone(&self.place), clock.clone(), name.clone());
            spawn_blocking(move || {
                let first = exchange(&*place, &clock, &name, seen);
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
            place = ?self.place,
            problem,
            "an observation of a lock could not be kept for later processes"
        );
        None
    }
}

/// Keeps when this version was first seen, unless an instant for it is kept already. Returns the one kept.
fn exchange(
    place: &dyn Observations,
    clock: &Clock,
    name: &Name,
    seen: FirstSeen,
) -> io::Result<ContenderInstant> {
    let origin = clock.origin()?;
    let kept = place.load(name)?.and_then(|text| {
        let kept = FirstSeen::parse(&text, &origin);
        if kept.is_err() {
            tracing::warn!(name: "observation_damaged", lock = %name, ?place, "the observation kept for a lock is damaged or another program's; it counts for nothing");
        }
        kept.ok().flatten()
    });
    let same = |kept: &FirstSeen| kept.version == seen.version && clock.has_reached(kept.first);
    if let Some(FirstSeen { first, .. }) = kept.filter(same) {
        return Ok(first);
    }
    place.store(name, &seen.render(&origin))?;
    Ok(seen.first)
}
