//! Which renewals are due when: everything that a client renews on one runtime, behind one lock that
//! nobody holds across an await, and under which nothing of a user's or a provider's runs.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use super::{
    crowd::Crowd,
    lane::{Kind, Lane, Route},
    pace::Pace,
    queue::{Kept, Queue, Standing},
};
use crate::{
    lease::Term,
    store::Store,
    time::{Clock, HolderInstant},
};

/// The most terms that are taken in one turn: the lock is not held for longer than that takes.
const TURN: usize = 4000;

/// All renewals of one client on one runtime.
pub(super) struct Agenda {
    clock: Clock,
    batches: bool,
    state: Mutex<State>,
    /// Rung when the scheduler should look before the time it sleeps until.
    pub(super) ring: Notify,
}

#[derive(Default)]
struct State {
    crowd: Crowd,
    /// By the instant at which each is due.
    waiting: Queue,
    /// What is due, until it is sent.
    lanes: BTreeMap<Route, Lane>,
    pace: Pace,
    /// When it was last looked at what is due.
    looked: Option<HolderInstant>,
    /// When the scheduler wakes up by itself.
    wakes: Option<HolderInstant>,
    /// Nobody runs it any more.
    ended: bool,
}

/// What the scheduler does now.
pub(super) struct Turn {
    pub(super) calls: Vec<Departure>,
    /// Terms that are renewed no more.
    pub(super) over: Vec<Kept>,
    pub(super) then: Then,
}

/// A call that is to be sent.
pub(super) struct Departure {
    pub(super) route: Route,
    pub(super) kind: Kind,
    pub(super) items: Vec<Kept>,
}

/// And then.
pub(super) enum Then {
    /// There is more to do.
    Again,
    /// It sleeps until then, asking the clock at least so often, or until the ring.
    Sleep(HolderInstant, Duration),
    /// Until the ring.
    Ring,
    /// There is nothing to renew any more.
    End,
}

/// What becomes of a term whose attempt has ended.
pub(super) enum Next {
    /// It is renewed again, from this instant on.
    At(HolderInstant, Kept),
    Over(Kept),
}

impl Agenda {
    pub(super) fn new(store: &Store) -> Self {
        Self {
            clock: store.clock.clone(),
            batches: store.batches,
            state: Mutex::default(),
            ring: Notify::new(),
        }
    }

    pub(super) const fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state().ended
    }

    /// Takes a term on; gives it back if the agenda has ended.
    pub(super) fn join(&self, kept: Kept) -> Option<Kept> {
        let at = next_look(&kept.term);
        let mut state = self.state();
        if state.ended {
            return Some(kept);
        }
        state.crowd.joins(&kept.term.plan);
        state.waiting.insert(at, kept);
        self.ring_for(&state, at);
        None
    }

    /// Takes a term out.
    pub(super) fn leave(&self, term: &Term) -> Option<Kept> {
        let mut state = self.state();
        let found = state.waiting.remove(term);
        let found = found.or_else(|| state.lanes.get_mut(&Route::of(term))?.remove(term))?;
        state.crowd.leaves(&term.plan);
        if state.crowd.is_empty() {
            self.ring.notify_one();
        }
        Some(found)
    }

    /// What is due now, and how long to sleep then.
    pub(super) fn turn(&self) -> Turn {
        let now = self.clock.now();
        let mut over = Vec::new();
        let mut state = self.state();
        let again = state.gather(now, self.batches, &mut over);
        let calls = state.send(now, &mut over);
        for kept in &over {
            state.crowd.leaves(&kept.term.plan);
        }
        let then = if state.crowd.is_empty() {
            state.ended = true;
            Then::End
        } else if again {
            Then::Again
        } else {
            state.wakes = state.wakes_at(now);
            match state.wakes {
                Some(until) => Then::Sleep(until, state.crowd.step()),
                None => Then::Ring,
            }
        };
        Turn { calls, over, then }
    }

    /// A call has ended, or has waited for its answer for so long that others need not wait for it.
    pub(super) fn make_room(&self, route: Route, kind: Kind) {
        let mut state = self.state();
        if let Some(lane) = state.lanes.get_mut(&route) {
            lane.make_room(kind);
            if lane.waits() {
                self.ring.notify_one();
            }
        }
    }

    /// A call has ended; whether the store answered anything, if it was asked. True if it answers
    /// nothing at present. Gives back the terms that are renewed no more, to be dropped without a
    /// lock.
    pub(super) fn settle(
        &self,
        route: Route,
        heard: Option<bool>,
        terms: Vec<Next>,
    ) -> (bool, Vec<Kept>) {
        let mut over = Vec::new();
        let mut state = self.state();
        let now = self.clock.now();
        for next in terms {
            match next {
                // It may have left while its answer was on its way.
                Next::At(at, kept) if !state.ended && kept.term.deadline() > now => {
                    state.waiting.insert(at, kept);
                    self.ring_for(&state, at);
                }
                Next::At(_, kept) | Next::Over(kept) => {
                    state.crowd.leaves(&kept.term.plan);
                    over.push(kept);
                }
            }
        }
        let lane = state.lanes.get_mut(&route);
        let silent = lane.is_some_and(|lane| lane.settled(heard));
        if state.crowd.is_empty() || state.lanes.values().any(Lane::waits) {
            self.ring.notify_one();
        }
        (silent, over)
    }

    /// Nobody runs it any more. Gives back what it still had, to be dropped without a lock.
    pub(super) fn end(&self) -> (Queue, BTreeMap<Route, Lane>) {
        let mut state = self.state();
        state.ended = true;
        (mem::take(&mut state.waiting), mem::take(&mut state.lanes))
    }

    /// Wakes the scheduler if it would sleep past this instant: until a later one, or on after a suspend,
    /// which its timer has not counted.
    fn ring_for(&self, state: &State, at: HolderInstant) {
        let overslept = |wakes| wakes <= self.clock.now();
        if state
            .wakes
            .is_none_or(|wakes| at < wakes || overslept(wakes))
        {
            self.ring.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Moves what is due into its lanes. Not more often than every [`Crowd::gather`]: what comes due
    /// meanwhile travels with it. True if there is more than one turn takes.
    fn gather(&mut self, now: HolderInstant, batches: bool, over: &mut Vec<Kept>) -> bool {
        if self
            .looked
            .is_some_and(|looked| now < looked + self.crowd.gather())
        {
            return false;
        }
        for _ in 0..TURN {
            let Some(kept) = self.waiting.pop_until(now) else {
                return false;
            };
            self.looked = Some(now);
            let term = &kept.term;
            let ends = term.deadline();
            let is_over = ends <= now || term.renewals_end().is_some_and(|end| end <= now);
            if is_over {
                over.push(kept);
                continue;
            }
            // Renewed by hand before it was kept, and answered since: V6, never earlier. What has
            // failed is repeated in any case.
            if kept.standing == Standing::Fresh && term.renewal_due() > now {
                self.waiting.insert(next_look(&kept.term), kept);
                continue;
            }
            let route = Route::of(term);
            let lane = self.lanes.entry(route);
            lane.or_insert_with(|| Lane::new(batches))
                .push(ends, kept, now);
        }
        self.waiting.first_at().is_some_and(|at| at <= now)
    }

    /// What may be sent now. Retries first: their leases end sooner.
    fn send(&mut self, now: HolderInstant, over: &mut Vec<Kept>) -> Vec<Departure> {
        let mut calls = Vec::new();
        let each = self.crowd.each();
        for (&route, lane) in &mut self.lanes {
            while let Some(ended) = lane.pop_ended(now) {
                // Renewed by hand before it was kept, and answered only now?
                if ended.term.deadline() > now {
                    self.waiting.insert(next_look(&ended.term), ended);
                } else {
                    over.push(ended);
                }
            }
            while let Some(items) = lane.next_retry() {
                calls.push(Departure {
                    route,
                    kind: Kind::Retry,
                    items,
                });
            }
            while lane.first_due().is_some_and(|first| {
                self.pace.holds_until(now, each).is_none() || latest(&first.term) <= now
            }) && let Some(items) = lane.next_due()
            {
                self.pace.sent(now, items.len(), each);
                calls.push(Departure {
                    route,
                    kind: Kind::Due,
                    items,
                });
            }
        }
        self.lanes.retain(|_, lane| !lane.is_idle());
        calls
    }

    /// When there may be something to do again, if nobody rings.
    fn wakes_at(&self, now: HolderInstant) -> Option<HolderInstant> {
        let held = self.pace.holds_until(now, self.crowd.each());
        let waiting = self.waiting.first_at().map(|due| match self.looked {
            Some(looked) => due.max(looked + self.crowd.gather()),
            None => due,
        });
        let lanes = self.lanes.values().flat_map(|lane| {
            let sent = lane
                .first_due()
                .zip(held)
                .map(|(first, held)| held.min(latest(&first.term)))
                .filter(|at| *at > now);
            [sent, lane.first_end()]
        });
        lanes.chain([waiting]).flatten().min()
    }
}

/// When a term needs to be looked at next: when it is due, or has been held for long enough.
pub(super) fn next_look(term: &Term) -> HolderInstant {
    let due = term.renewal_due();
    term.renewals_end().map_or(due, |end| end.min(due))
}

/// Until when a renewal may be held back for the sake of an even pace: D/30 after it was due, a fifth
/// of the way from there to unsure (V8).
fn latest(term: &Term) -> HolderInstant {
    term.renewal_due() + term.plan.duration / 30
}
