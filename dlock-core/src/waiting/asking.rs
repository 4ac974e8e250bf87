//! The calls of a waiter to its store: tries, and reads where they cost less (O3). The answer decides how long the
//! waiter pauses before the next call.

#[cfg(test)]
mod tests;

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use uuid::Uuid;

use super::{
    Acquired, Answer, Contender, Settings, Wait,
    attempt::{self, Draw, TryEnd},
    claiming::Taken,
    next::CallResult,
};
use crate::{
    Error, ErrorKind, Holder, ProviderError, Record, emit::log, events::Operation, testing::Event,
};

/// The most tries in a row after answers that call for another at once: `Spent`, a refusal by a term that may be
/// claimed, and a grant that came too late. None of them can come twice in a row for the same reason from a store that
/// keeps the rules, unless it is slower than the lease.
const AT_ONCE: usize = 6;

impl Contender {
    /// Waits to be admitted to call a store that answers nothing. `Err`: not admitted within the time of a try, or a
    /// call has no use any more. A redeemer waits behind no other caller.
    pub(super) async fn admission(&self) -> Result<(), ProviderError> {
        if self.ticket.is_some() {
            return Ok(());
        }
        let Settings { store, plan, .. } = &*self.lock;
        let patience = self
            .time_left()
            .unwrap_or(Duration::MAX)
            .min(plan.try_limit());
        let closing = store.closing();
        tokio::select! {
            biased;
            admitted = store.outage.admit(plan, patience) => admitted,
            () = closing.cancelled() => Err(store.outage.error()),
            () = self.gone.cancelled() => Err(store.outage.error()),
        }
    }

    /// The result of a call: breaks if it is the acquire's own.
    pub(super) fn result_of(
        &mut self,
        answer: Result<Option<Acquired>, Error>,
    ) -> ControlFlow<Answer, CallResult> {
        match answer {
            Ok(Some(Acquired::Held(holder))) if self.ticket.is_none() => {
                let pause = self.until_next_try(&holder);
                log!(debug, name: "held", owner = %holder.record.owner, ?pause, "held by another");
                self.warn_of_ourselves(&holder);
                self.seen = Some(holder);
                self.error = None;
                ControlFlow::Continue(CallResult::Refused(pause))
            }
            Ok(Some(answer)) => ControlFlow::Break(Ok(answer)),
            Ok(None) => {
                let Settings { store, plan, .. } = &*self.lock;
                let beyond_help = store.clock.elapsed(self.answered) >= plan.give_up_after;
                ControlFlow::Continue(match &self.error {
                    Some(_) if beyond_help => CallResult::BeyondHelp,
                    Some(_) => CallResult::Silence(store.pause_after_failure(plan)),
                    None => CallResult::Refused(store.pause_after_failure(plan)),
                })
            }
            Err(error) => ControlFlow::Break(Err(error)),
        }
    }

    /// Waiters of one client take turns. But work that holds the lock and waits for it waits for ever; only the time
    /// distinguishes it from a waiter whose turn will come.
    fn warn_of_ourselves(&mut self, holder: &Holder) {
        let Settings { store, plan, .. } = &*self.lock;
        let waited = store.clock.elapsed(self.started);
        if !holder.ours || self.warned || waited < plan.duration {
            return;
        }
        self.warned = true;
        let name = &self.lock.name;
        log!(warn, name: "held_by_this_process", lock = %name, ?waited, "waiting for a lock that this process holds itself; locks are not re-entrant");
    }

    /// Whether to read before the next try: a read must cost less, and a holder must have been seen that, as far as
    /// is known, is still there.
    pub(super) fn may_read_first(&self) -> bool {
        let Settings { store, state, .. } = &*self.lock;
        store.cheap_reads && self.seen.is_some() && state.claim(&store.clock).is_none()
    }

    /// Reads the record, which observes as well as a refusal does (O3), and tries only if the lock may be free.
    pub(super) async fn read_first(&mut self) -> Result<Option<Acquired>, Error> {
        let newest = self.lock.state.newest();
        match held(&self.lock, || self.call_limit()).await {
            Ok(held) => {
                self.answered = self.lock.store.clock.contender_now();
                if let Some(record) = held {
                    let holder = self.holder(record);
                    // N1: a read leaves no mark.
                    let marks = self.lock.store.marks && self.may_mark(holder.ours);
                    if holder.record.wanted != 0 || !marks {
                        return Ok(Some(Acquired::Held(holder)));
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::Fatal => return Err(error.into()),
            Err(error) => {
                self.error = Some(error);
                return Ok(None);
            }
        }
        // The turn went with the caller, and a read is no try that runs to its answer.
        if self.gone.is_cancelled() {
            return Ok(None);
        }
        // If the record is free, a term that was ours when the read was sent has ended, even one that is on offer.
        if self.lock.state.newest() != newest
            && let Some(Taken::Lease(holding)) = self.take_term()
        {
            return Ok(Some(Acquired::Holding(holding)));
        }
        self.try_now().await
    }

    /// One try, and the tries that follow at once: after `Spent`, a refusal by a term that may be claimed, and a grant
    /// that came too late. `None`: no answer, and the last error says why; or, without one, all of them were spent.
    pub(super) async fn try_now(&mut self) -> Result<Option<Acquired>, Error> {
        let lock = Arc::clone(&self.lock);
        let Settings {
            store, state, plan, ..
        } = &*lock;
        state.forget_old_observation(&store.clock);
        let mut prev = self.ticket.or_else(|| state.claim(&store.clock));
        let spent = match self.wait {
            Wait::No => store.clock.elapsed(self.started),
            Wait::Limit(_) => Duration::ZERO,
        };
        let within = plan.try_limit().saturating_sub(spent);
        for _ in 0..AT_ONCE {
            // Each try draws anew, so that no late copy of another passes for it.
            let uuid = self.fresh_uuid()?;
            let had_run_out = store.is_observed() && state.has_run_out(&store.clock);
            let (tokens, marks) = (self.tokens(), self.marks());
            let draw = Draw {
                uuid,
                prev,
                tokens,
                marks,
                within,
            };
            let end = attempt::run(&lock, draw, &self.gone, || self.time_left()).await;
            store.emit(&lock.name, plan, || Event::TryEnded {
                outcome: end.word(),
                took_over: had_run_out && matches!(end, TryEnd::Granted(_)),
            });
            match end {
                TryEnd::Granted(holding) => {
                    if let Some(mut turns) = state.known_turns() {
                        turns.granted(self.queue.runtime, store.clock.contender_now());
                    }
                    return Ok(Some(Acquired::Holding(holding)));
                }
                TryEnd::Held(record) => {
                    self.answered = store.clock.contender_now();
                    let recalled = self.observe(&record).await;
                    state.end_late_offer(store.clock.now());
                    let gone = self.gone.is_cancelled();
                    let ground = recalled || self.may_claim(&record);
                    if prev != Some(record.version()) && ground && !gone {
                        log!(debug, name: "held_by_nobody", "refused by a term that is retired, was handed to us, or has been seen for long enough");
                        prev = Some(record.version());
                        continue;
                    }
                    return Ok(Some(Acquired::Held(self.holder(record))));
                }
                TryEnd::Spent => {
                    self.answered = store.clock.contender_now();
                    log!(debug, name: "spent", "spent; trying again");
                }
                TryEnd::Late => {
                    log!(debug, name: "grant_late", "granted too late; trying again");
                    self.error = Some(ProviderError::unknown(
                        "every grant of the store came after its lease had ended",
                    ));
                }
                TryEnd::GivenUp(error) => {
                    self.error = Some(error);
                    return Ok(None);
                }
                TryEnd::Fatal(error) => return Err(error.into()),
            }
            if self.is_late() {
                break;
            }
            prev = state.claim(&store.clock);
        }
        Ok(None)
    }

    /// A reply has just shown this record. Returns whether it can be claimed because processes before this one have
    /// seen it too.
    pub(super) async fn observe(&self, record: &Record) -> bool {
        let Settings {
            store, state, name, ..
        } = &*self.lock;
        store.observe(state, name, record, self.call_limit()).await
    }

    /// How long one call may take: at most as long as the caller waits.
    fn call_limit(&self) -> Duration {
        let left = self.time_left().unwrap_or(Duration::MAX);
        left.min(self.lock.plan.attempt())
    }

    pub(super) fn holder(&mut self, record: Record) -> Holder {
        let Settings { store, state, .. } = &*self.lock;
        let (observed, kept) = state.observed(&store.clock, record.version());
        let holder = Holder {
            ours: state.is_live(record.uuid),
            record,
            observed,
            kept,
        };
        self.saw(&holder);
        holder
    }

    /// Why there is no answer.
    pub(super) fn silence(&mut self) -> ProviderError {
        let unknown = || ProviderError::unknown("the store gave no answer");
        self.error.take().unwrap_or_else(unknown)
    }

    fn fresh_uuid(&self) -> Result<Uuid, ProviderError> {
        self.lock.store.entropy.uuid()
    }
}

/// Reads the record, which observes as well as a refusal does (O3): the record if a try would be refused, as far as a
/// read shows. The limit is for each of two calls.
pub(super) async fn held(
    lock: &Settings,
    limit: impl Fn() -> Duration,
) -> Result<Option<Record>, ProviderError> {
    let Settings {
        store,
        state,
        name,
        plan,
        ..
    } = lock;
    let what = (Operation::Read, plan.group.as_ref());
    let call = store.provider.read(name);
    let Some(record) = store.call(what, limit(), call).await? else {
        return Ok(None);
    };
    store.observe(state, name, &record, limit()).await;
    state.end_late_offer(store.clock.now());
    let free = record.released
        || record.remaining == Some(Duration::ZERO)
        || state.is_retired(&store.clock, record.uuid);
    Ok((!free).then_some(record))
}
