//! The names that are waited for, so that a release of any other notifies no process. Nothing here communicates with a
//! store.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    future::pending,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use dlock_core::{Name, Record, provider::Wakeup};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// For jitter, and a busy machine.
const LATEST_QUESTION: Duration = Duration::from_secs(1);
/// How long until a name for which the channel could not listen is tried again: twice as long each time, up to the
/// interval at which waiters without wake-ups poll.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// If more waiters than that are to be woken, one hint for all of them does it, for which any channel has room.
const MANY: usize = 256;
/// How often names without waiters are searched for.
const TIDY_EVERY: Duration = Duration::from_secs(5);

/// The names that are waited for through a provider: see [`Provider::watch`](dlock_core::Provider::watch) for its duty
/// to its waiters.
///
/// A waiter is one that was refused by a marked term, or that read its record. The provider reports both with
/// [`refused`](Self::refused), and each of its channels then listens for the name: see [`WaitedNames`].
#[derive(Debug, Default)]
pub(crate) struct Waited(Mutex<Vec<Weak<WaitedNames>>>);

/// The names that are waited for on one channel of wake-ups. Its task loops: [`due`](Self::due),
/// [`round`](Self::round), the requests to the store, [`said`](Self::said), and the hints that it yields.
///
/// A request that a waiter sends once the channel listens for its name misses no release. An earlier one may, so the
/// waiter is woken when listening begins, and tries again. A name is forgotten a second after the lease that its last
/// waiter saw: a waiter tries again by then.
#[derive(Debug, Default)]
pub(crate) struct WaitedNames {
    waits: Mutex<Waits>,
    /// Some work cannot wait for the next round.
    fresh: Notify,
}

#[derive(Debug, Default)]
struct Waits {
    names: BTreeMap<Name, Wait>,
    /// When the next round is due, if anything is waited for.
    next: Option<Instant>,
}

#[derive(Debug)]
struct Wait {
    /// By then the waiter has tried again, or no longer waits.
    until: Instant,
    /// Since when the channel listens: requests sent after that miss no release. This never moves; otherwise of
    /// requests that are sent all the time each would have been sent before it.
    said: Option<Instant>,
    /// While the channel does not listen: when it tries next, and how long it pauses after that.
    next: Instant,
    pause: Duration,
    /// The waiter is woken when this round ends.
    wake: bool,
}

/// The work of a channel in one round.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitRound {
    /// Names that are no longer waited for, and for which the channel listens: it is to stop.
    pub(crate) over: Vec<Name>,
    /// Names for which the channel does not listen yet: it is to begin.
    pub(crate) unsaid: Vec<Name>,
}

impl Waited {
    /// Another channel, on which nothing is waited for. It learns of waiters until it is dropped.
    pub(crate) fn open(&self) -> Arc<WaitedNames> {
        let names = Arc::default();
        let mut channels = self.channels();
        channels.retain(|channel| channel.strong_count() > 0);
        channels.push(Arc::downgrade(&names));
        names
    }

    /// A caller may wait for this name: the answer to a request sent to the store at the instant `asked` showed this
    /// record, which has a holder.
    pub(crate) fn refused(&self, name: &Name, record: &Record, asked: Instant) {
        let patience = record.remaining.unwrap_or(record.duration) + LATEST_QUESTION;
        for channel in self.channels().iter().filter_map(Weak::upgrade) {
            channel.refused(name, asked, Instant::now() + patience);
        }
    }

    fn channels(&self) -> MutexGuard<'_, Vec<Weak<WaitedNames>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitedNames {
    fn refused(&self, name: &Name, asked: Instant, until: Instant) {
        let mut waits = self.waits();
        let fresh = match waits.names.get_mut(name) {
            Some(wait) => {
                wait.until = wait.until.max(until);
                // A name for which the channel does not listen yet is retried automatically.
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
                waits.names.insert(name.clone(), wait);
                true
            }
        };
        if fresh {
            self.fresh.notify_one();
        }
    }

    /// Resolves when the next round is due.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn due(&self) {
        let next = self.waits().next;
        let next = async {
            match next {
                Some(instant) => sleep_until(instant).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = self.fresh.notified() => {}
            () = next => {}
        }
    }

    /// The work that is due now. Names that are no longer waited for are forgotten.
    pub(crate) fn round(&self) -> WaitRound {
        let (mut round, now) = (WaitRound::default(), Instant::now());
        self.waits().names.retain(|name, wait| {
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

    /// Ends the round: the channel now listens for these names. Returns the hints to send: to their waiters, and to
    /// those for whom the channel cannot listen now, who try as they would without wake-ups. The name of such a waiter
    /// is in a later [`round`](Self::round) again.
    pub(crate) fn said(&self, heard: &[Name]) -> Vec<Wakeup> {
        let (mut waits, now) = (self.waits(), Instant::now());
        for name in heard {
            if let Some(wait) = waits.names.get_mut(name) {
                wait.said = Some(now);
            }
        }
        let tidy = now + TIDY_EVERY;
        let due = |wait: &Wait| wait.said.map_or(wait.next, |_| tidy);
        waits.next = waits.names.values().map(due).min();
        let woken = waits
            .names
            .iter_mut()
            .filter_map(|(name, wait)| mem::take(&mut wait.wake).then(|| name.clone()));
        let hints: Vec<Wakeup> = woken.map(Wakeup::Name).collect();
        if hints.len() > MANY {
            vec![Wakeup::Everyone]
        } else {
            hints
        }
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
