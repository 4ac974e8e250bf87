//! Which names are waited for, so that a release of any other tells nobody. Nothing here speaks to a store.

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
/// How long until a name for which the channel could not listen is tried again: twice as long each time, as rarely as
/// waiters poll who have no wake-ups.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// More waiters than that are woken by one hint for everyone, for which any channel has room.
const MANY: usize = 256;
/// How often what nobody waits for any more is looked for.
const TIDY_EVERY: Duration = Duration::from_secs(5);

/// What is waited for through a provider: see [`Provider::watch`](dlock_core::Provider::watch) for what it owes its
/// waiters.
///
/// A waiter is one that was refused by a marked term, or that read its record. The provider reports both with
/// [`refused`](Self::refused), and each of its channels then listens for the name: see [`WaitedNames`].
#[derive(Debug, Default)]
pub(crate) struct Waited(Mutex<Vec<Weak<WaitedNames>>>);

/// What is waited for on one channel of wake-ups. Its task loops: [`due`](Self::due), [`round`](Self::round), the
/// requests to the store, [`said`](Self::said), and the hints that it yields.
///
/// What a waiter asks once the channel listens for its name misses no release. What it asked before may, so it is woken
/// then, and asks again. A name is forgotten a second after the lease that its last waiter saw: a waiter asks again by
/// then (W2).
#[derive(Debug, Default)]
pub(crate) struct WaitedNames {
    waits: Mutex<Waits>,
    /// There is something to do that cannot wait for the next round.
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
    /// The waiter has asked again by then, or waits no more.
    until: Instant,
    /// The channel listens since then: what is asked from then on misses no release. This never moves, else questions
    /// that are asked all the time would each be asked before it.
    said: Option<Instant>,
    /// While it does not: when it tries next, and how long it pauses after that.
    next: Instant,
    pause: Duration,
    /// The waiter is woken when this round ends.
    wake: bool,
}

/// What a channel has to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitRound {
    /// Names that nobody waits for any more, and for which the channel listens: it is to stop.
    pub(crate) over: Vec<Name>,
    /// Names for which the channel does not listen yet: it is to begin.
    pub(crate) unsaid: Vec<Name>,
}

impl Waited {
    /// Another channel, on which nothing is waited for. It hears of waiters until it is dropped.
    pub(crate) fn open(&self) -> Arc<WaitedNames> {
        let names = Arc::default();
        let mut channels = self.channels();
        channels.retain(|channel| channel.strong_count() > 0);
        channels.push(Arc::downgrade(&names));
        names
    }

    /// Somebody may wait for this name: the answer to what was asked of the store at the instant `asked` showed this
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

    /// What there is to do now. Names that nobody waits for any more are forgotten.
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

    /// The round is done: the channel listens for these names now. Yields the hints to send: to their waiters, and to
    /// those for whom the channel cannot listen now, who ask as they would without wake-ups. The name of such a waiter is
    /// in a later [`round`](Self::round) again.
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
