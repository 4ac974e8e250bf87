//! Which locks are waited for, so that releases of others need no notification. Nothing here speaks to the database.
//!
//! A waiter is one that was refused, or that saw a holder. What it asks once the session has said in the database that it
//! listens for the lock misses no release; what it asked before may, so the waiter is woken then. It is forgotten a second
//! after the lease that the waiter saw: a waiter asks again by then (W2).

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use dlock_core::{Name, Record};
use tokio::{sync::Notify, time::Instant};

/// For jitter, and a busy machine.
const LATEST_QUESTION: Duration = Duration::from_secs(1);
/// How long until a lock that a release has is tried again: twice as long each time, as rarely as waiters poll who have no
/// wake-ups.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How often what nobody waits for any more is looked for.
const TIDY_EVERY: Duration = Duration::from_secs(5);

/// The open channels of a provider.
#[derive(Debug, Default)]
pub(crate) struct Channels(Mutex<Vec<Weak<Waits>>>);

/// What is waited for on one channel.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    names: Mutex<BTreeMap<Name, Wait>>,
    /// There is something to do that cannot wait for the next round.
    fresh: Notify,
}

#[derive(Debug)]
struct Wait {
    /// The waiter has asked again by then, or waits no more.
    until: Instant,
    /// The session has said that it listens: what is asked from then on misses no release. This never moves, else
    /// questions that are asked all the time would each be asked before it.
    said: Option<Instant>,
    /// While it has not: when it tries next, and how long it pauses after that.
    next: Instant,
    pause: Duration,
    /// It is woken when this round ends.
    wake: bool,
}

/// What a channel has to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Round {
    /// Waited for by nobody any more; the session has said that it listens for them.
    pub(crate) over: Vec<Name>,
    /// The session has not said yet that it listens for them.
    pub(crate) unsaid: Vec<Name>,
}

impl Channels {
    /// Another channel, on which nothing is waited for. It is one of these until it is dropped.
    pub(crate) fn open(&self) -> Arc<Waits> {
        let waits = Arc::default();
        let mut channels = self.channels();
        channels.retain(|channel| channel.strong_count() > 0);
        channels.push(Arc::downgrade(&waits));
        waits
    }

    /// Somebody may wait for this lock: an answer to what was asked at this instant showed a holder.
    pub(crate) fn refused(&self, name: &Name, record: &Record, asked: Instant) {
        let patience = record.remaining.unwrap_or(record.duration) + LATEST_QUESTION;
        for channel in self.channels().iter().filter_map(Weak::upgrade) {
            channel.refused(name, asked, Instant::now() + patience);
        }
    }

    fn channels(&self) -> MutexGuard<'_, Vec<Weak<Waits>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waits {
    fn refused(&self, name: &Name, asked: Instant, until: Instant) {
        let mut names = self.names();
        let fresh = match names.get_mut(name) {
            Some(wait) => {
                wait.until = wait.until.max(until);
                // What is not said yet is tried again by itself.
                let missed = wait.said.is_some_and(|said| asked < said);
                wait.wake |= missed;
                missed
            }
            None => {
                let wait = Wait {
                    until,
                    said: None,
                    next: Instant::now(),
                    pause: FIRST_PAUSE,
                    wake: false,
                };
                names.insert(name.clone(), wait);
                true
            }
        };
        if fresh {
            self.fresh.notify_one();
        }
    }

    /// Resolves when somebody waits who has not been told of yet.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn fresh(&self) {
        self.fresh.notified().await;
    }

    /// The work of the next round. Waits that are over are forgotten.
    pub(crate) fn round(&self) -> Round {
        let (mut round, now) = (Round::default(), Instant::now());
        self.names().retain(|name, wait| {
            let over = wait.until < now;
            if over && wait.said.is_some() {
                round.over.push(name.clone());
            } else if !over && wait.said.is_none() && wait.next <= now {
                wait.next = now + wait.pause;
                wait.pause = (2 * wait.pause).min(LONGEST_PAUSE);
                wait.wake = true;
                round.unsaid.push(name.clone());
            }
            !over
        });
        round
    }

    /// The session has said that it listens for these. Yields who is to be woken: they, and those for whom it tried in
    /// vain, who ask now as they would without wake-ups.
    pub(crate) fn said(&self, heard: &[Name]) -> Vec<Name> {
        let (mut names, now) = (self.names(), Instant::now());
        for name in heard {
            if let Some(wait) = names.get_mut(name) {
                wait.said = Some(now);
            }
        }
        let woken = names
            .iter_mut()
            .filter_map(|(name, wait)| mem::take(&mut wait.wake).then(|| name.clone()));
        woken.collect()
    }

    /// When the next round is due, if anything is waited for.
    pub(crate) fn next(&self) -> Option<Instant> {
        let tidy = Instant::now() + TIDY_EVERY;
        let names = self.names();
        let due = |wait: &Wait| wait.said.map_or(wait.next, |_| tidy);
        names.values().map(due).min()
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<Name, Wait>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
