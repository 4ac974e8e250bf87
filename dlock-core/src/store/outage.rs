//! One rate limit for all calls of a client while its store answers none (the book, "Losing and failing": A store that
//! is down): which caller goes next, and when. Each caller keeps its own pause after a failure, and its own patience.

#[cfg(test)]
mod tests;

use std::{
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use crate::{
    Clock, ErrorKind, ProviderError,
    time::{Entropy, HolderInstant, Plan},
};

/// Up to this many calls in a row without an answer are not yet an outage: a call that fails alone is repeated as
/// soon as its own pause has passed.
const HICCUPS: u32 = 3;

/// The average time between two calls during an outage: ten connections a second, and no more than the least poll
/// interval until a caller notices that the store is back.
const GAP: Duration = Duration::from_millis(100);

/// If no caller has been admitted for this long, the others in line no longer wait for the first of them: it is on a
/// runtime that no thread drives.
const AWAY: Duration = Duration::from_secs(1);

/// A client's knowledge of an outage of its store.
pub(crate) struct Outage {
    clock: Clock,
    entropy: Arc<Entropy>,
    /// Calls since the last answer, whatever that was.
    unanswered: AtomicU32,
    last: Mutex<Last>,
    /// The first caller sleeps until its turn; the others stand behind it.
    queue: tokio::sync::Mutex<()>,
    ended: Notify,
}

#[derive(Default)]
struct Last {
    error: Option<ProviderError>,
    /// When a call was last admitted in its turn, and how long the next one waits after that.
    admitted: Option<(HolderInstant, Duration)>,
}

/// The error for callers that had no turn. An error that is fatal to one call says nothing about the calls of others.
fn for_others(error: &ProviderError) -> ProviderError {
    if error.kind() == ErrorKind::Fatal {
        ProviderError::unknown("no call was answered; the last one failed for good")
            .with_source(error.clone())
    } else {
        error.clone()
    }
}

impl Outage {
    pub(crate) fn new(clock: Clock, entropy: Arc<Entropy>) -> Self {
        Self {
            clock,
            entropy,
            unanswered: AtomicU32::new(0),
            last: Mutex::default(),
            queue: tokio::sync::Mutex::default(),
            ended: Notify::new(),
        }
    }

    /// A call has ended.
    pub(crate) fn heard<T>(&self, answer: &Result<T, ProviderError>) {
        match answer {
            Ok(_) => self.answered(),
            Err(error) => {
                self.last().error = Some(for_others(error));
                // Four billion of them take years.
                self.unanswered.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Any answer ends the outage, and all callers continue.
    pub(crate) fn answered(&self) {
        if self.unanswered.load(Ordering::SeqCst) == 0 {
            return;
        }
        let before = self.unanswered.swap(0, Ordering::SeqCst);
        if before > HICCUPS {
            self.ended.notify_waiters();
        }
    }

    /// Whether the store answers no call, as far as is known.
    pub(crate) fn is_on(&self) -> bool {
        self.unanswered.load(Ordering::SeqCst) > HICCUPS
    }

    /// Waits to be admitted to call the store; at once unless there is an outage. Fails with the last error of
    /// the store if `patience` ends first.
    ///
    /// # Cancel safety
    /// A dropped call has taken no turn, and the next in line moves up.
    pub(crate) async fn admit(&self, plan: &Plan, patience: Duration) -> Result<(), ProviderError> {
        if !self.is_on() {
            return Ok(());
        }
        // Boxed: unboxed, every call would be larger by it, and few need it.
        Box::pin(self.admit_in_turn(plan, patience)).await
    }

    async fn admit_in_turn(&self, plan: &Plan, patience: Duration) -> Result<(), ProviderError> {
        // Armed before the check.
        let mut ended = pin!(self.ended.notified());
        ended.as_mut().enable();
        if !self.is_on() {
            return Ok(());
        }
        let turn = async {
            tokio::select! {
                biased;
                () = ended => {
                    // Not all in one instant: as far apart as pauses are.
                    let apart = self.entropy.jitter(plan.pause());
                    self.clock.pause(apart).await;
                }
                () = self.next(plan) => {}
            }
        };
        tokio::select! {
            biased;
            () = turn => Ok(()),
            () = self.clock.pause(patience) => Err(self.error()),
        }
    }

    /// The error of a call that had no turn.
    pub(crate) fn error(&self) -> ProviderError {
        let none = || ProviderError::unknown("no call was answered");
        self.last().error.clone().unwrap_or_else(none)
    }

    /// Waits for our turn: a gap after the one before. A short lease has no time for gaps longer than its attempts.
    async fn next(&self, plan: &Plan) {
        let _first = tokio::select! {
            biased;
            first = self.queue.lock() => Some(first),
            () = self.first_is_away(plan) => None,
        };
        let due = self
            .last()
            .admitted
            .map(|(at, gap)| at + gap.min(plan.attempt()));
        if let Some(due) = due {
            self.clock.pause(due.since(self.clock.now())).await;
        }
        // Processes that saw the outage begin in one instant do not stay in step.
        let gap = GAP * 4 / 5 + self.entropy.jitter(GAP * 2 / 5);
        self.last().admitted = Some((self.clock.now(), gap));
    }

    /// Resolves for one of the callers in line if the first of them does not run. Counts from the last admitted call
    /// and not from this caller's arrival, since callers may have less patience than that; but gives the first the
    /// time of a call, since the last one may belong to an earlier outage, or the machine may have slept.
    async fn first_is_away(&self, plan: &Plan) {
        let least = GAP.min(plan.attempt()) * 3 / 2;
        loop {
            let now = self.clock.now();
            let last_turn = *self.last().admitted.get_or_insert((now, Duration::ZERO));
            let left = (last_turn.0 + AWAY).since(now);
            self.clock.pause(left.max(least)).await;
            let mut last = self.last();
            if last.admitted == Some(last_turn) {
                last.admitted = Some((self.clock.now(), Duration::ZERO));
                return;
            }
        }
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
