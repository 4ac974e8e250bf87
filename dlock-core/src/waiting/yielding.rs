//! Yielding slots to clients that have waited longer (F1 to F6). Only ever delays a try (W2).

#[cfg(test)]
mod tests;

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use super::{Answer, Contender, Settings, rendezvous::Sender};
use crate::names::{Slots, span};

/// The slots that are yielded to the waiter that has the reservation, beyond those for all others (F13).
const RESERVED: Slots = 8;

impl Contender {
    /// Before the first try: somebody may wait for the lock that we have just given back.
    pub(super) async fn let_others_first(
        &mut self,
        sender: &Sender<Answer>,
    ) -> ControlFlow<Option<Answer>> {
        self.entered = self.lock.state.enter();
        // A redeemer stands in no line; nothing is left to others while a term of our own client goes on.
        let Settings {
            store, state, plan, ..
        } = &*self.lock;
        if self.ticket.is_some() || state.will_go_on(self.queue.runtime, &store.clock, plan) {
            return ControlFlow::Continue(());
        }
        let elders = self.elders();
        let newcomer = self.lock.state.known_fairness().map(|mut fairness| {
            // The slots that it yields, and how much of that time remains.
            fairness.newcomer(self.entered, elders, &self.lock.store.clock)
        });
        let Some((slots, remaining)) = newcomer else {
            return ControlFlow::Continue(());
        };
        self.yield_slots(sender, slots, remaining).await
    }

    /// After a wake-up: as long as others may have waited longer, in other processes or on other runtimes of this one.
    pub(super) async fn let_seniors_first(
        &mut self,
        sender: &Sender<Answer>,
    ) -> ControlFlow<Option<Answer>> {
        let slots = self.slots();
        self.yield_slots(sender, slots, span(slots + self.elders()))
            .await
    }

    /// Yields so many slots, of which so much time remains.
    async fn yield_slots(
        &mut self,
        sender: &Sender<Answer>,
        slots: Slots,
        remaining: Duration,
    ) -> ControlFlow<Option<Answer>> {
        self.yielded_slots = slots;
        if remaining.is_zero() {
            return ControlFlow::Continue(());
        }
        // Boxed: unboxed, every acquire would be larger by it, and few need it.
        Box::pin(self.sleep_slots(sender, remaining)).await
    }

    /// Sleeps. A waiter that is woken meanwhile has let another term go by, and may have to yield fewer slots; the
    /// sleep never starts anew, and the try comes in any case (F6).
    async fn sleep_slots(
        &mut self,
        sender: &Sender<Answer>,
        mut lasts: Duration,
    ) -> ControlFlow<Option<Answer>> {
        let clock = self.lock.store.clock.clone();
        let (state, queue) = (Arc::clone(&self.lock.state), Arc::clone(&self.queue));
        let since = clock.contender_now();
        let mut passed = self.passed();
        loop {
            // Armed before the questions.
            let mut freed = std::pin::pin!(queue.freed.notified());
            freed.as_mut().enable();
            let left = lasts.saturating_sub(clock.elapsed(since));
            // S1, F6: an offer of our own client waits for nothing.
            if left.is_zero() || state.is_offered(queue.runtime) {
                return ControlFlow::Continue(());
            }
            if !self.rest(sender, freed, left).await? {
                return ControlFlow::Continue(());
            }
            // A hint of our own release says nothing of others.
            let before = std::mem::replace(&mut passed, self.passed());
            if passed == before {
                continue;
            }
            let now = self.slots();
            let until = clock.elapsed(since) + span(now + self.elders());
            if until < lasts {
                (lasts, self.yielded_slots) = (until, now);
            }
        }
    }

    fn slots(&self) -> Slots {
        let clock = &self.lock.store.clock;
        let Some(fairness) = self.lock.state.known_fairness() else {
            return 0;
        };
        let reserved = match &self.reservation {
            Some(reservation) => reservation.is_anothers(),
            None => fairness.is_reserved(clock),
        };
        let seniors = fairness.slots(self.entered, clock);
        if reserved {
            seniors + RESERVED
        } else {
            seniors
        }
    }

    /// The runtimes of one process compete as processes do, and here it is known which of them has waited longer (W1).
    fn elders(&self) -> Slots {
        self.lock.state.elders(self.queue.runtime)
    }

    fn passed(&self) -> u64 {
        let fairness = self.lock.state.known_fairness();
        fairness.map_or(0, |fairness| fairness.passed(self.entered))
    }
}
