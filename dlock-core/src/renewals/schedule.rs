//! Which renewals are due when: everything that a client renews on one runtime, behind one lock that is
//! never held across an await, and under which no code of a user or a provider runs.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use super::{
    load::Load,
    rate_limit::RateLimit,
    send_queue::{Kind, Route, SendQueue},
    timer_queue::{Entry, Health, TimerQueue},
};
use crate::{
    lease::Term,
    store::Store,
    time::{Clock, HolderInstant},
};

/// The most terms that one step takes, so that the lock is not held for long.
const MOST_PER_STEP: usize = 4000;

/// All renewals of one client on one runtime.
pub(super) struct Schedule {
    clock: Clock,
    batches: bool,
    contents: Mutex<Contents>,
    /// Rung when the scheduler should run a step before the instant that it sleeps until.
    pub(super) ring: Notify,
}

#[derive(Default)]
struct Contents {
    load: Load,
    /// By the instant at which each is due.
    waiting: TimerQueue,
    /// Renewals that are due, until they are sent.
    queues: BTreeMap<Route, SendQueue>,
    rate_limit: RateLimit,
    /// When due terms were last collected.
    looked: Option<HolderInstant>,
    /// When the scheduler wakes up without a ring, and the longest sleep before it reads the clock again.
    sleeps: Option<(HolderInstant, Duration)>,
    /// Whether it has ended: no task runs it any more.
    ended: bool,
}

/// The work of the scheduler in one step.
pub(super) struct Step {
    pub(super) calls: Vec<PlannedCall>,
    /// Terms that are no longer renewed.
    pub(super) done: Vec<Entry>,
    pub(super) next: Next,
}

/// A call that is to be sent.
pub(super) struct PlannedCall {
    pub(super) route: Route,
    pub(super) kind: Kind,
    pub(super) items: Vec<Entry>,
}

/// The next action of the scheduler.
pub(super) enum Next {
    /// Run another step: there is more to do.
    Again,
    /// Sleep until this instant, reading the clock at least this often, or until the ring.
    Sleep(HolderInstant, Duration),
    /// Sleep until the ring.
    Ring,
    /// End: nothing is left to renew.
    End,
}

/// The outcome for a term whose attempt has ended.
pub(super) enum Outcome {
    /// It is renewed again, from this instant on.
    Again(HolderInstant, Entry),
    Ended(Entry),
}

impl Schedule {
    pub(super) fn new(store: &Store) -> Self {
        Self {
            clock: store.clock.clone(),
            batches: store.batches,
            contents: Mutex::default(),
            ring: Notify::new(),
        }
    }

    pub(super) const fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn has_ended(&self) -> bool {
        self.contents().ended
    }

    /// Takes a term on; returns it if the schedule has ended.
    pub(super) fn join(&self, entry: Entry) -> Option<Entry> {
        let (at, step) = (next_check(&entry.term), entry.term.plan.step());
        let mut contents = self.contents();
        if contents.ended {
            return Some(entry);
        }
        contents.load.add(&entry.term.plan);
        contents.waiting.insert(at, entry);
        self.ring_for(&contents, at, step);
        None
    }

    /// Takes a term out.
    pub(super) fn remove(&self, term: &Term) -> Option<Entry> {
        let mut contents = self.contents();
        let found = contents.waiting.remove(term);
        let found = found.or_else(|| contents.queues.get_mut(&Route::of(term))?.remove(term))?;
        contents.load.remove(&term.plan);
        if contents.load.is_empty() {
            self.ring.notify_one();
        }
        Some(found)
    }

    /// The work that is due now, and what to do after that.
    pub(super) fn step(&self) -> Step {
        let now = self.clock.now();
        let mut done = Vec::new();
        let mut contents = self.contents();
        let again = contents.gather(now, self.batches, &mut done);
        let calls = contents.send(now, &mut done);
        for entry in &done {
            contents.load.remove(&entry.term.plan);
        }
        let next = if contents.load.is_empty() {
            contents.ended = true;
            Next::End
        } else if again {
            Next::Again
        } else {
            let step = contents.load.longest_sleep();
            contents.sleeps = contents.wakes_at(now).map(|until| (until, step));
            match contents.sleeps {
                Some((until, step)) => Next::Sleep(until, step),
                None => Next::Ring,
            }
        };
        Step { calls, done, next }
    }

    /// A call has ended, or has waited so long for its answer that others need not wait for it.
    pub(super) fn make_room(&self, route: Route, kind: Kind) {
        let mut contents = self.contents();
        if let Some(queue) = contents.queues.get_mut(&route) {
            queue.make_room(kind);
            if queue.waits() {
                self.ring.notify_one();
            }
        }
    }

    /// A call has ended; `heard`: whether the store answered anything, if a request was sent. Returns whether the
    /// store answers nothing at present, and the terms that are no longer renewed, to be dropped without a lock.
    pub(super) fn settle(
        &self,
        route: Route,
        heard: Option<bool>,
        terms: Vec<Outcome>,
    ) -> (bool, Vec<Entry>) {
        let mut done = Vec::new();
        let mut contents = self.contents();
        let now = self.clock.now();
        for outcome in terms {
            match outcome {
                // The term may have ended while the answer was in flight.
                Outcome::Again(at, entry) if !contents.ended && entry.term.deadline() > now => {
                    let step = entry.term.plan.step();
                    contents.waiting.insert(at, entry);
                    self.ring_for(&contents, at, step);
                }
                Outcome::Again(_, entry) | Outcome::Ended(entry) => {
                    contents.load.remove(&entry.term.plan);
                    done.push(entry);
                }
            }
        }
        let queue = contents.queues.get_mut(&route);
        let silent = queue.is_some_and(|queue| queue.settled(heard));
        if contents.load.is_empty() || contents.queues.values().any(SendQueue::waits) {
            self.ring.notify_one();
        }
        (silent, done)
    }

    /// Ends the schedule. Returns what it still held, to be dropped without a lock.
    pub(super) fn end(&self) -> (TimerQueue, BTreeMap<Route, SendQueue>) {
        let mut contents = self.contents();
        contents.ended = true;
        (
            mem::take(&mut contents.waiting),
            mem::take(&mut contents.queues),
        )
    }

    /// Wakes the scheduler if it would sleep past this instant, at which a term is due: because it sleeps until a
    /// later instant, or in longer steps than that term allows, or sleeps on after a suspend, which its timer has not
    /// counted.
    fn ring_for(&self, contents: &Contents, at: HolderInstant, term_step: Duration) {
        let overslept = |wakes| wakes <= self.clock.now();
        if contents
            .sleeps
            .is_none_or(|(wakes, step)| at < wakes || term_step < step || overslept(wakes))
        {
            self.ring.notify_one();
        }
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    /// Moves due terms into their send queues, at most once in [`Load::gather`]: terms that fall due meanwhile travel
    /// with them. Returns whether more are due than one step takes.
    fn gather(&mut self, now: HolderInstant, batches: bool, done: &mut Vec<Entry>) -> bool {
        if self
            .looked
            .is_some_and(|looked| now < looked + self.load.gather())
        {
            return false;
        }
        for _ in 0..MOST_PER_STEP {
            let Some(entry) = self.waiting.pop_until(now) else {
                return false;
            };
            self.looked = Some(now);
            let term = &entry.term;
            let ends = term.deadline();
            let is_over = ends <= now || term.renewals_end().is_some_and(|end| end <= now);
            if is_over {
                done.push(entry);
                continue;
            }
            // Renewed by hand before it became a guard, and answered since: the next renewal is not due yet. A failed
            // one is repeated in any case.
            if entry.health == Health::Healthy && term.renewal_due() > now {
                self.waiting.insert(next_check(&entry.term), entry);
                continue;
            }
            let route = Route::of(term);
            let queue = self.queues.entry(route);
            queue
                .or_insert_with(|| SendQueue::new(batches))
                .push(ends, entry, now);
        }
        let more = self.waiting.first_at().is_some_and(|at| at <= now);
        if more {
            // The next step continues at once.
            self.looked = None;
        }
        more
    }

    /// The calls that may be sent now. Retries first: their leases end sooner.
    fn send(&mut self, now: HolderInstant, done: &mut Vec<Entry>) -> Vec<PlannedCall> {
        let mut calls = Vec::new();
        let each = self.load.each();
        for (&route, queue) in &mut self.queues {
            while let Some(ended) = queue.pop_ended(now) {
                // Renewed by hand before it became a guard, and answered only now?
                if ended.term.deadline() > now {
                    self.waiting.insert(next_check(&ended.term), ended);
                } else {
                    done.push(ended);
                }
            }
            while let Some(items) = queue.next_retry() {
                calls.push(PlannedCall {
                    route,
                    kind: Kind::Retry,
                    items,
                });
            }
            while queue.first_due().is_some_and(|first| {
                self.rate_limit.holds_until(now, each).is_none() || latest(&first.term) <= now
            }) && let Some(items) = queue.next_due()
            {
                self.rate_limit.sent(now, items.len(), each);
                calls.push(PlannedCall {
                    route,
                    kind: Kind::Due,
                    items,
                });
            }
        }
        self.queues.retain(|_, queue| !queue.is_idle());
        calls
    }

    /// When the next step is due, without a ring.
    fn wakes_at(&self, now: HolderInstant) -> Option<HolderInstant> {
        let held = self.rate_limit.holds_until(now, self.load.each());
        let waiting = self.waiting.first_at().map(|due| match self.looked {
            Some(looked) => due.max(looked + self.load.gather()),
            None => due,
        });
        let queues = self.queues.values().flat_map(|queue| {
            let sent = queue
                .first_due()
                .zip(held)
                .map(|(first, held)| held.min(latest(&first.term)))
                .filter(|at| *at > now);
            [sent, queue.first_end()]
        });
        queues.chain([waiting]).flatten().min()
    }
}

/// When a term has to be checked next: when it is due, or when it has been held for the longest time allowed.
pub(super) fn next_check(term: &Term) -> HolderInstant {
    let due = term.renewal_due();
    term.renewals_end().map_or(due, |end| end.min(due))
}

/// Until when a renewal may be held back for the sake of an even rate: D/30 after it was due, a fifth of the way from
/// there to unsure.
fn latest(term: &Term) -> HolderInstant {
    term.renewal_due() + term.plan.duration / 30
}
