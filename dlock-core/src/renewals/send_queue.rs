//! Renewals that are due and wait to be sent: those of one shard and of leases of about one duration. Send queues
//! share nothing, so that a shard which does not answer delays only its own renewals, and a short lease does not cut
//! the attempt of a long one.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::timer_queue::{Entry, Health, TimerQueue};
use crate::{
    lease::Term,
    time::{HolderInstant, Plan},
};

/// The most renewals in one call. At that size the cost of the call itself is a small part; with the longest names it
/// carries half a megabyte.
pub(super) const BATCH: usize = 500;

/// Batches of one send queue that are in flight at a time. A batch that has had no answer for a while is not counted
/// (see [`call`](super::call)).
const BATCHES: usize = 8;

/// Single renewals of one send queue that are in flight at a time, counted likewise: retries, and all renewals if the
/// store takes no batches.
const SINGLES: usize = 64;

/// The same while the store answers nothing at all: enough to notice when it is back, without a storm.
const PROBES: usize = 16;

/// Retries are sent one by one as long as there are no more than this; more retries travel in as many
/// calls, of at most [`COMPANY`] each.
const APART: usize = 512;

/// The most retries in one call.
const COMPANY: usize = 32;

/// Which renewals may travel together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Route {
    shard: u64,
    /// Durations of one class differ by less than a quarter, so an attempt is cut by less than a quarter.
    class: u32,
}

/// How a call is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Due,
    Retry,
}

/// The send queue of one route.
pub(super) struct SendQueue {
    /// The store takes batches.
    batches: bool,
    /// By the end of the lease: the term with the least time left goes first.
    due: TimerQueue,
    retries: TimerQueue,
    /// Calls in flight that others wait for, of each kind, and all calls in flight.
    due_calls: usize,
    retry_calls: usize,
    calls: usize,
    /// Whether the last call to end had no answer to anything.
    silent: bool,
}

impl Route {
    pub(super) fn of(term: &Term) -> Self {
        Self {
            shard: term.shard,
            class: class(term.plan.duration),
        }
    }
}

/// The three leading bits of a duration in milliseconds, and how many follow.
fn class(duration: Duration) -> u32 {
    let millis = u32::try_from(duration.as_millis())
        .unwrap_or(u32::MAX)
        .max(4);
    let rest = millis.ilog2() - 2;
    (rest << 3) | (millis >> rest)
}

impl SendQueue {
    pub(super) fn new(batches: bool) -> Self {
        Self {
            batches,
            due: TimerQueue::default(),
            retries: TimerQueue::default(),
            due_calls: 0,
            retry_calls: 0,
            calls: 0,
            silent: false,
        }
    }

    /// A renewal is due. A lease with little time left does not wait for a batch, and does not cut one short: it goes
    /// with the retries.
    pub(super) fn push(&mut self, ends: HolderInstant, entry: Entry, now: HolderInstant) {
        let hurried = ends.since(now) < hurry(&entry.term.plan);
        match entry.health {
            Health::Healthy if !hurried => self.due.insert(ends, entry),
            _ => self.retries.insert(ends, entry),
        }
    }

    pub(super) fn remove(&mut self, term: &Term) -> Option<Entry> {
        self.due.remove(term).or_else(|| self.retries.remove(term))
    }

    /// Takes out a term whose lease ended while it waited.
    pub(super) fn pop_ended(&mut self, now: HolderInstant) -> Option<Entry> {
        self.due
            .pop_until(now)
            .or_else(|| self.retries.pop_until(now))
    }

    /// The next call of due renewals, if one may be sent. `None` if none waits, or too many are in flight.
    pub(super) fn next_due(&mut self) -> Option<Vec<Entry>> {
        let (calls, size) = match self.batches {
            true => (BATCHES, BATCH),
            false => (SINGLES, 1),
        };
        if self.due_calls >= calls || self.due.is_empty() {
            return None;
        }
        self.due_calls += 1;
        self.calls += 1;
        let size = self.due.len().min(size);
        Some((0..size).map_while(|_| self.due.pop()).collect())
    }

    /// The next call of retries, likewise: alone, or with few others if there are so many that sending them one by
    /// one would take longer than their leases last. A lease whose own attempt failed goes alone in any case.
    pub(super) fn next_retry(&mut self) -> Option<Vec<Entry>> {
        let calls = if self.silent { PROBES } else { SINGLES };
        if self.retry_calls >= calls {
            return None;
        }
        let company = if self.silent || !self.batches {
            1
        } else {
            (self.retries.len() / APART).clamp(1, COMPANY)
        };
        let first = self.retries.pop()?;
        self.retry_calls += 1;
        self.calls += 1;
        let joined = |entry: &Entry| entry.health != Health::Isolated;
        let with_others = joined(&first);
        let mut items = vec![first];
        while with_others && items.len() < company && self.retries.first().is_some_and(joined) {
            items.extend(self.retries.pop());
        }
        Some(items)
    }

    /// The first due renewal that waits here.
    pub(super) fn first_due(&self) -> Option<&Entry> {
        self.due.first()
    }

    /// When the first lease that waits here ends.
    pub(super) fn first_end(&self) -> Option<HolderInstant> {
        let ends = [self.due.first_at(), self.retries.first_at()];
        ends.into_iter().flatten().min()
    }

    /// A call has ended. `heard`: whether the store answered anything, if it was called. Returns whether the store is
    /// silent.
    pub(super) fn settled(&mut self, heard: Option<bool>) -> bool {
        self.calls = self.calls.saturating_sub(1);
        self.silent = heard.map_or(self.silent, |heard| !heard);
        self.silent
    }

    /// A call no longer keeps others waiting.
    pub(super) fn make_room(&mut self, kind: Kind) {
        let calls = match kind {
            Kind::Due => &mut self.due_calls,
            Kind::Retry => &mut self.retry_calls,
        };
        *calls = calls.saturating_sub(1);
    }

    pub(super) fn waits(&self) -> bool {
        !self.due.is_empty() || !self.retries.is_empty()
    }

    /// Whether nothing waits here and nothing is in flight.
    pub(super) fn is_idle(&self) -> bool {
        !self.waits() && self.due_calls + self.retry_calls + self.calls == 0
    }
}

/// A lease with less than this left is in a hurry: three quarters of the time of an attempt.
fn hurry(plan: &Plan) -> Duration {
    plan.attempt() * 3 / 4
}
