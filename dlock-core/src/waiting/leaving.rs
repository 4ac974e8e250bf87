//! A client that has had a lock to itself for long reads whether a waiter of another client has a reservation
//! (`reserving`), and if so leaves the lock to others before it tries again (W8; F11 and F12).

#[cfg(test)]
mod tests;

use std::{ops::ControlFlow, pin::pin, sync::Arc, time::Duration};

use super::{Answer, Contender, Settings, rendezvous::Sender};
use crate::{Error, Name, ProviderError, Record, emit::log, events::Operation, time::LEAST_PAUSE};

impl Contender {
    /// Before a try: leaves the lock to a reservation of another client, until another client has had the lock,
    /// or all waiters must have tried. Half of what is left of a limit is kept for the try (F14).
    pub(super) async fn leave_to_others(
        &mut self,
        sender: &Sender<Answer>,
    ) -> ControlFlow<Option<Answer>> {
        // A redeemer waits for nothing (H9).
        if self.ticket.is_some() {
            return ControlFlow::Continue(());
        }
        if self.looks_for_reservation() {
            Box::pin(self.heed_reservation()).await;
        }
        let Settings { store, state, .. } = &*self.lock;
        if state.away_for(&store.clock).is_zero() {
            return self.still_wanted();
        }
        // Boxed: unboxed, every acquire would be larger by it, and few need it.
        Box::pin(self.stay_away(sender)).await
    }

    /// Until no more of the time is left for which the lock is left to others.
    async fn stay_away(&mut self, sender: &Sender<Answer>) -> ControlFlow<Option<Answer>> {
        let lock = Arc::clone(&self.lock);
        let Settings {
            store,
            state,
            name,
            plan,
            ..
        } = &*lock;
        let (clock, queue) = (&store.clock, Arc::clone(&self.queue));
        let began = clock.contender_now();
        let mut looked = began;
        let at_most = self.time_left().map_or(Duration::MAX, |left| left / 2);
        let still_away = || {
            // A lease that was neither redeemed nor given back is free once it has run out (I15); others ask for
            // it then, and go first.
            let runs_out = state.runs_out_in(clock).map_or(Duration::MAX, |left| {
                if left.is_zero() {
                    left
                } else {
                    left.saturating_add(plan.expiry_jitter())
                }
            });
            state
                .away_for(clock)
                .min(runs_out)
                .min(at_most.saturating_sub(clock.elapsed(began)))
        };
        let mut absent = false;
        loop {
            // Armed before the questions.
            let mut freed = pin!(queue.freed.notified());
            freed.as_mut().enable();
            let left = still_away();
            // S1: an offer of our own client waits for nothing.
            if left.is_zero() || state.is_offered(queue.runtime) {
                if absent {
                    // No call was sent meanwhile (W5).
                    self.answered = clock.contender_now();
                }
                return self.still_wanted();
            }
            absent = true;
            let hinted = self
                .rest(sender, freed, plan.poll_reserved().min(left))
                .await?;
            // A hint may be of the term that is waited for. It may also be one of very many.
            let too_soon = hinted && clock.elapsed(looked) < LEAST_PAUSE;
            if too_soon || still_away().is_zero() {
                continue;
            }
            looked = clock.contender_now();
            match self.read(name).await {
                Ok(Some(record)) => {
                    self.observe(&record).await;
                    if !state.is_ours(record.uuid) {
                        state.fairness().followed();
                        continue;
                    }
                }
                Ok(None) => {}
                Err(_) => continue,
            }
            // The waiter that had the reservation may have gone away.
            if let Ok(None) = self.reservation_of_others().await {
                state.fairness().nobody_reserves();
            }
        }
    }

    /// The caller may have gone away, or its client been closed, while a record was read.
    fn still_wanted(&self) -> ControlFlow<Option<Answer>> {
        if self.gone.is_cancelled() {
            ControlFlow::Break(None)
        } else if self.lock.store.is_closed() {
            ControlFlow::Break(Some(Err(Error::Closed)))
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Whether to look for a reservation of another client: if this one has had the lock to itself for long. A lock
    /// that our own client has is not left to others.
    fn looks_for_reservation(&self) -> bool {
        let Settings {
            store, state, plan, ..
        } = &*self.lock;
        if !plan.reservations || state.is_taken() {
            return false;
        }
        state.known_fairness().is_some_and(|mut fairness| {
            fairness.reservation_is_due(plan.pass_time(), plan.try_limit(), &store.clock)
        })
    }

    /// Looks for that reservation.
    async fn heed_reservation(&mut self) {
        let Settings {
            store, state, plan, ..
        } = &*Arc::clone(&self.lock);
        let looked = store.clock.contender_now();
        let Ok(reservation) = self.reservation_of_others().await else {
            // No more than a third of the time goes into looks.
            let took = store.clock.elapsed(looked);
            return state.fairness().look_failed(2 * took, &store.clock);
        };
        let Some(record) = reservation else {
            return state.fairness().nobody_reserves();
        };
        if !state.is_taken() {
            log!(debug, name: "left_to_others", owner = %record.owner, "leaving the lock to waiters of other processes");
            let lasts = plan.away(&record);
            let (version, duration) = (record.version(), record.duration);
            state
                .fairness()
                .heed(version, duration, lasts, &store.clock);
        }
    }

    /// The reservation, if a waiter of another client has it. A reservation of our own whose release fails hides
    /// the waiters behind it.
    async fn reservation_of_others(&mut self) -> Result<Option<Record>, ProviderError> {
        let Settings { store, name, .. } = &*Arc::clone(&self.lock);
        let Some([name, ..]) = name.reservations() else {
            return Ok(None);
        };
        let record = self.read(&name).await?;
        let ours = |record: &Record| {
            let state = store.names.known(&name);
            state.is_some_and(|state| state.is_live(record.uuid))
        };
        let free = |record: &Record| record.released || record.remaining == Some(Duration::ZERO);
        Ok(record.filter(|record| !free(record) && !ours(record)))
    }

    /// Reads a record, within the limits of an attempt and half of what is left of the caller's (W4). A store
    /// that answers is not silent (W5). In an outage nothing is read, nor when nobody waits any more. A caller
    /// that goes away stops no call (G1), but a client that closes waits for no hint.
    async fn read(&mut self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let Settings { store, plan, .. } = &*self.lock;
        if store.outage.is_on() || self.gone.is_cancelled() {
            return Err(store.outage.error());
        }
        let left = self.time_left().unwrap_or(Duration::MAX);
        let limit = (left / 2).min(plan.attempt());
        let what = (Operation::Read, plan.group.as_ref());
        let call = store.call(what, limit, store.provider.read(name));
        let closing = store.closing();
        let answer = tokio::select! {
            biased;
            answer = call => answer,
            () = closing.cancelled() => Err(store.outage.error()),
        };
        if answer.is_ok() {
            self.answered = store.clock.contender_now();
        }
        answer
    }
}
