//! Leaving the lock to others before a try, and how often a waiter calls meanwhile (the book, "Waiting": Turns between
//! processes). Only ever delays a try.

#[cfg(test)]
mod tests;

use std::{ops::ControlFlow, pin::pin, sync::Arc, time::Duration};

use tokio::runtime::Id;

use super::{Answer, Contender, Settings, rendezvous::Sender};
use crate::{
    Clock, FencingToken, Holder,
    contract::mark_of,
    provider::mark,
    time::{ContenderInstant, LEAST_PAUSE, Plan},
    turns::{Slots, span},
};

/// Once in this many times, a waiter leaves one more slot, if few others contend: hints reach all in about the same
/// order.
const LUCK: u64 = 16;

/// The most often that a waiter calls in a poll interval, and how often a waiter does whose mark the record has shown.
const MOST_ASKED: u32 = 8;
const ASKED_BY_MARKER: u32 = 4;

/// The holders that a contender has seen since its turn to contend came.
pub(super) struct Watched {
    since: ContenderInstant,
    /// The newest term, and when it was first seen. Its token names it: a closing or a revocation changes the uuid and
    /// begins no term.
    newest: Option<(FencingToken, ContenderInstant)>,
    /// A record has shown this contender's mark.
    is_marker: bool,
}

impl Watched {
    pub(super) const fn new(since: ContenderInstant) -> Self {
        Self {
            since,
            newest: None,
            is_marker: false,
        }
    }

    /// How often to call in a poll interval: more often while the lock passes from holder to holder, for waiters that
    /// poll, and for the one that the others make way for.
    pub(super) fn asks(&self, plan: &Plan, listens: bool, clock: &Clock) -> u32 {
        let two_polls = 2 * plan.poll_every;
        let brisk = |(_, at)| clock.elapsed(at) <= two_polls;
        if !self.newest.is_some_and(brisk) {
            return 1;
        }
        let waited = clock.elapsed(self.since).as_nanos() / two_polls.as_nanos().max(1);
        let aged = u32::try_from(waited).map_or(MOST_ASKED, |polls| (polls + 1).min(MOST_ASKED));
        match (self.is_marker, listens) {
            (true, _) => aged.max(ASKED_BY_MARKER),
            (false, false) => aged,
            (false, true) => 1,
        }
    }
}

impl Contender {
    /// Its turn to contend has come.
    pub(super) fn arrive(&mut self) {
        let Settings { store, state, .. } = &*self.lock;
        let now = store.clock.contender_now();
        let contenders = state.known_turns();
        let arrival =
            contenders.and_then(|mut known| Some(known.known(self.queue.runtime)?.arrive()));
        self.arrival = arrival.unwrap_or_default();
        self.watched = Watched::new(now);
        self.answered = now;
    }

    /// Its mark (N1).
    pub(super) fn own_mark(&self) -> u32 {
        let Settings { state, owner, .. } = &*self.lock;
        mark_of(owner, state.number(self.queue.runtime))
    }

    /// The store has shown this holder.
    pub(super) fn saw(&mut self, holder: &Holder) {
        let Settings {
            store,
            state,
            owner,
            ..
        } = &*self.lock;
        let (record, own) = (&holder.record, self.own_mark());
        let now = store.clock.contender_now();
        if self
            .watched
            .newest
            .is_none_or(|(term, _)| term != record.token)
        {
            self.watched.newest = Some((record.token, now));
        }
        self.watched.is_marker |= record.wanted == own;
        let ours = self.is_of_this_client(holder);
        // Under our own label it may be a try of ours that has not heard of its grant.
        let by_label = !ours && record.owner != **owner;
        let others = [
            by_label.then(|| mark(&record.owner)),
            Some(record.wanted).filter(|wanted| ![0, own].contains(wanted)),
        ];
        if !ours || record.wanted != 0 {
            let mut contenders = state.turns();
            let turns = contenders.of(self.queue.runtime);
            if !ours {
                turns.saw_another();
            }
            others
                .into_iter()
                .flatten()
                .for_each(|mark| turns.saw(mark));
        }
    }

    /// Whether this client holds the term, or has released it or given it up, and the store shows it all the same.
    pub(super) fn is_of_this_client(&self, holder: &Holder) -> bool {
        holder.ours || self.lock.state.is_ours(holder.record.uuid)
    }

    /// Before a try: leaves the lock to others after a release of its own, and to those who have waited longer if it
    /// was woken. A ticket, and a term that is on offer, wait for nothing. Half of the remainder of a limit is kept for
    /// the try.
    pub(super) async fn await_turn(
        &mut self,
        sender: &Sender<Answer>,
        woken: bool,
    ) -> ControlFlow<Option<Answer>> {
        if self.ticket.is_some() || !(woken || self.is_left()) {
            return ControlFlow::Continue(());
        }
        // Boxed: unboxed, every acquire would be larger by it, and few need it.
        Box::pin(self.leave(sender, woken)).await
    }

    async fn leave(
        &mut self,
        sender: &Sender<Answer>,
        mut woken: bool,
    ) -> ControlFlow<Option<Answer>> {
        let clock = self.lock.store.clock.clone();
        // A hint may come before the answer to its release, and only the answer tells whether others go first.
        let patience = self.release_patience();
        self.sleep_while(sender, |contender| {
            let state = &contender.lock.state;
            patience * u32::from(state.is_being_released(&clock, patience))
        })
        .await?;
        let since = clock.contender_now();
        let at_most = self.time_left().map_or(Duration::MAX, |left| left / 2);
        if self.is_left() {
            let passed = self.passed();
            self.sleep_while(sender, |contender| {
                let left = at_most.saturating_sub(clock.elapsed(since));
                contender.left_for().min(left)
            })
            .await?;
            // A release of another ended it.
            woken = self.passed() != passed;
        }
        if woken {
            let began = clock.contender_now();
            let (mut passed, mut lasts) = (self.passed(), span(self.slots() + self.elders()));
            self.sleep_while(sender, |contender| {
                // Each release that is heard meanwhile may shorten the sleep, and none prolongs it.
                let before = std::mem::replace(&mut passed, contender.passed());
                let slept = clock.elapsed(began);
                if passed != before {
                    let slots = contender.slots() + contender.elders();
                    lasts = lasts.min(slept + span(slots));
                }
                lasts.saturating_sub(slept)
            })
            .await?;
        }
        // No call was sent meanwhile: the store was not silent.
        self.answered = clock.contender_now();
        ControlFlow::Continue(())
    }

    /// Sleeps as long as `left`, which is called anew at each hint, returns time. An offer of its own client ends it.
    async fn sleep_while(
        &mut self,
        sender: &Sender<Answer>,
        mut left: impl FnMut(&Self) -> Duration + Send,
    ) -> ControlFlow<Option<Answer>> {
        let (state, queue) = (Arc::clone(&self.lock.state), Arc::clone(&self.queue));
        loop {
            // Armed before the checks.
            let mut freed = pin!(queue.freed.notified());
            freed.as_mut().enable();
            let left = left(self);
            if left.is_zero() || state.is_offered(queue.runtime) {
                return ControlFlow::Continue(());
            }
            self.rest(sender, freed, left).await?;
        }
    }

    pub(super) fn is_left(&self) -> bool {
        !self.left_for().is_zero()
    }

    fn left_for(&self) -> Duration {
        let Settings { store, state, .. } = &*self.lock;
        let contenders = state.known_turns();
        contenders
            .and_then(|mut known| Some(known.known(self.queue.runtime)?.left_for(&store.clock)))
            .unwrap_or_default()
    }

    fn slots(&self) -> Slots {
        let Settings { store, state, .. } = &*self.lock;
        let contenders = state.known_turns();
        contenders
            .and_then(|mut known| {
                let turns = known.known(self.queue.runtime)?;
                Some(turns.slots(self.arrival, store.entropy.one_in(LUCK)))
            })
            .unwrap_or_default()
    }

    fn passed(&self) -> u64 {
        let contenders = self.lock.state.known_turns();
        contenders
            .and_then(|mut known| Some(known.known(self.queue.runtime)?.passed(self.arrival)))
            .unwrap_or_default()
    }

    /// The runtimes of one process compete as processes do, but here it is known which has waited longer.
    fn elders(&self) -> Slots {
        self.lock.state.elders(self.queue.runtime)
    }
}

/// Whether a try now would pass waiters by: those of this runtime, or other clients, which go first after a release
/// that they waited for. Until a release is answered, this client does not know whether they do, and assumes so for as
/// long as one attempt may take.
pub(crate) fn is_others_turn(lock: &Settings, runtime: Id) -> bool {
    let Settings {
        store, state, plan, ..
    } = lock;
    let is_left = || {
        let mut contenders = state.known_turns()?;
        Some(!contenders.known(runtime)?.left_for(&store.clock).is_zero())
    };
    state.waiters(runtime) > 0
        || state.is_being_released(&store.clock, plan.attempt())
        || is_left().unwrap_or_default()
}

/// The pause of a waiter that calls this often in a poll interval.
pub(super) fn part_of(poll: Duration, asks: u32) -> Duration {
    (poll / asks).max(LEAST_PAUSE.min(poll))
}
