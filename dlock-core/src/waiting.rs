//! Waiting for a lock: turns, tries, pauses, limits, and bringing the grant to the caller (the book, "Waiting": The
//! queue). A term of this client continues with the first waiter in line; that of a ticket is claimed.
//!
//! `Contender::contend` is the loop of a waiter that has its turn, and `rest` its sleep.

mod acquire;
mod asking;
mod attempt;
mod call;
mod caller_gone;
mod claiming;
mod next;
mod queue_entry;
mod rendezvous;
#[cfg(test)]
mod tests;
mod times;
mod turns;

use std::{
    future::ready,
    ops::ControlFlow,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use tokio::sync::futures::Notified;
use uuid::Uuid;

pub(crate) use self::{acquire::acquire, turns::is_others_turn};
use self::{
    caller_gone::CallerGone,
    claiming::Taken,
    next::{Facts, Step, next},
    queue_entry::QueueEntry,
    rendezvous::Sender,
    turns::Watched,
};
use crate::{
    Error, Holder, ProviderError, Ticket, emit,
    lease::{Holding, Settings},
    names::Queue,
    provider::Version,
    store::listener,
    time::ContenderInstant,
    turns::Arrival,
};

/// How long an acquire may take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// One try, past all waiters.
    No,
    /// As long as it takes, or this long in all.
    Limit(Option<Duration>),
}

/// The result of an acquire.
pub(crate) enum Acquired {
    Holding(Holding),
    Held(Holder),
}

/// One caller's attempt to get the lock.
struct Contender {
    lock: Arc<Settings>,
    wait: Wait,
    /// The version that a ticket claims, as long as it may be worth something.
    ticket: Option<Version>,
    /// How long the ticket closes the name (B4).
    closes_for: Duration,
    started: ContenderInstant,
    /// When the store last answered, or we began to call it. A refusal by a try of our own that has ended and a spent
    /// try are answers too; a grant that came too late is none.
    answered: ContenderInstant,
    /// Cancelled when the caller no longer waits for the answer.
    gone: Arc<CallerGone>,
    /// The queue in which it waits. A caller that stands in no line has a queue to itself.
    queue: Arc<Queue>,
    /// When it began to let terms of others go by, and what it has seen of them since.
    arrival: Arrival,
    watched: Watched,
    /// The term of its own client whose release it has waited for, since others wanted it.
    gave_way: Option<Uuid>,
    /// The holder of the lock when the store last answered.
    seen: Option<Holder>,
    /// Whether the warning was logged that this client itself holds the lock.
    warned: bool,
    /// The last error since the store last answered.
    error: Option<ProviderError>,
}

type Answer = Result<Acquired, Error>;

impl Contender {
    fn new(
        lock: &Arc<Settings>,
        wait: Wait,
        ticket: Option<&Ticket>,
        started: ContenderInstant,
        gone: Arc<CallerGone>,
        queue: Arc<Queue>,
    ) -> Self {
        Self {
            lock: Arc::clone(lock),
            wait,
            ticket: ticket.map(Ticket::version),
            closes_for: ticket.map_or(Duration::ZERO, Ticket::closes_for),
            started,
            answered: started,
            gone,
            queue,
            arrival: Arrival::default(),
            watched: Watched::new(started),
            gave_way: None,
            seen: None,
            warned: false,
            error: None,
        }
    }

    async fn run(&mut self, sender: Sender<Answer>, entry: QueueEntry, queues: bool) {
        let lock = Arc::clone(&self.lock);
        let answer = match self.wait {
            _ if queues => self.queue(&sender, &entry).await,
            Wait::No => self.once(&sender).await,
            // Boxed: unboxed, every acquire would be larger by it, and few have a ticket.
            Wait::Limit(_) => Box::pin(self.redeem(&sender, &entry)).await,
        };
        // Together with an offer that it has not taken.
        entry.leave();
        let Some(answer) = answer else {
            return sender.send_back();
        };
        let Ok(Acquired::Holding(holding)) = &answer else {
            return sender.put(answer);
        };
        if self.ticket.is_some() {
            holding.term().closes_for(self.closes_for);
        }
        emit::contained(|| {
            tracing::Span::current().record("token", holding.term().token.get());
        });
        // A grant that is not picked up in time comes back, is dropped here, and so released: the next in line must not
        // wait for a caller that does not poll.
        let patience = lock.store.clock.pause(lock.plan.pickup());
        drop(sender.send(answer, patience).await);
    }

    /// One try, past all waiters. `None` if the caller has gone away before it.
    async fn once(&mut self, sender: &Sender<Answer>) -> Option<Answer> {
        // The redeemer of a ticket waits for nothing.
        let admitted = tokio::select! {
            biased;
            admitted = self.admission(), if self.ticket.is_none() => admitted,
            () = sender.abandoned(), if self.ticket.is_none() => return None,
            else => Ok(()),
        };
        if let Err(error) = admitted {
            return Some(Err(error.into()));
        }
        let gone = Arc::clone(&self.gone);
        let answer = as_long_as_wanted(sender, &gone, pin!(self.try_now())).await;
        Some(match answer {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => match self.seen.take() {
                Some(holder) if self.error.is_none() => Ok(Acquired::Held(holder)),
                _ => Err(self.silence().into()),
            },
            Err(error) => Err(error),
        })
    }

    /// Redeems a ticket, in no queue. Once it is refused it is worthless, and its owner waits like every other
    /// caller.
    async fn redeem(&mut self, sender: &Sender<Answer>, entry: &QueueEntry) -> Option<Answer> {
        tokio::select! {
            biased;
            // Nothing was sent yet: the ticket is as good as before.
            () = sender.abandoned() => return None,
            () = ready(()) => {}
        }
        let answer = self.contend(sender).await;
        let Some(Ok(Acquired::Held(holder))) = answer else {
            return answer;
        };
        self.seen = Some(holder);
        self.ticket = None;
        self.queue = entry.enqueue(&self.lock).await;
        self.queue(sender, entry).await
    }

    /// Waits for our turn, then contends. `None` if the caller has gone away.
    async fn queue(&mut self, sender: &Sender<Answer>, entry: &QueueEntry) -> Option<Answer> {
        let lock = Arc::clone(&self.lock);
        let closing = lock.store.closing();
        tokio::select! {
            biased;
            // Before our turn: a caller who was away may be back only after its limit.
            () = self.out_of_time() => return Some(Err(self.timeout())),
            // Most callers have it at once. A caller that has gone has none; a client that closes sends no more.
            () = entry.turn() => {}
            () = sender.abandoned() => return None,
            () = closing.cancelled() => return Some(Err(Error::Closed)),
        }
        let gone = Arc::clone(&self.gone);
        as_long_as_wanted(sender, &gone, pin!(self.contend(sender))).await
    }

    /// Tries until the lock is ours, time is up, or a retry cannot help: `next::next` decides, this waits.
    async fn contend(&mut self, sender: &Sender<Answer>) -> Option<Answer> {
        let lock = Arc::clone(&self.lock);
        let queue = Arc::clone(&self.queue);
        let Settings { store, state, .. } = &*lock;
        listener::ensure(store, &lock.plan);
        self.arrive();
        // A redeemer that was refused tries anew when its turn has come, and does not read first.
        let mut woken = self.seen.is_some();
        let mut first = true;
        loop {
            if let ControlFlow::Break(end) = self.await_turn(sender, woken).await {
                return end;
            }
            // Listen first, ask second.
            let mut freed = std::pin::pin!(queue.freed.notified());
            freed.as_mut().enable();
            // A lease on offer waits for nothing.
            let mut admitted = if state.is_offered(queue.runtime) {
                Ok(())
            } else {
                self.admission().await
            };
            if freed.as_mut().enable() {
                // Rung before our turn.
                woken = true;
                freed.set(queue.freed.notified());
                freed.as_mut().enable();
            }
            let mut facts = Facts {
                gone: self.gone.is_cancelled(),
                is_late: self.is_late(),
                woken,
                looked: false,
                expects_term: self.pause_for_term().filter(|_| first),
                admitted: admitted.is_ok(),
                reads: self.may_read_first(),
                result: None,
            };
            first = false;
            // A wake-up that an outage lets no call follow is for the next round.
            let unfollowed = woken && !facts.admitted;
            let rested = loop {
                let step = next(&facts);
                let result = match step {
                    Step::Leave => return None,
                    Step::TimeOut => return Some(Err(self.timeout())),
                    Step::GiveUp => return Some(Err(self.silence().into())),
                    Step::Take => match self.take_term() {
                        Some(Taken::Lease(lease)) => return Some(Ok(Acquired::Holding(lease))),
                        // Woken: it waits for the answer to that release.
                        Some(Taken::Over(uuid)) => {
                            self.gave_way = Some(uuid);
                            break ControlFlow::Continue(true);
                        }
                        None => {
                            facts.looked = true;
                            continue;
                        }
                    },
                    Step::Sleep(pause) => break self.rest(sender, freed, pause).await,
                    Step::Rest(pause) => break self.rest_after_failure(sender, freed, pause).await,
                    Step::Skip => {
                        self.error = std::mem::replace(&mut admitted, Ok(())).err();
                        Ok(None)
                    }
                    Step::Read => self.read_first().await,
                    Step::Try => self.try_now().await,
                };
                match self.result_of(result) {
                    ControlFlow::Break(answer) => return Some(answer),
                    ControlFlow::Continue(result) => facts.result = Some(result),
                }
                facts.is_late = self.is_late();
            };
            match rested {
                ControlFlow::Break(end) => return end,
                ControlFlow::Continue(rung) => woken = rung || unfollowed,
            }
            if facts.result.is_none() {
                // No call was sent meanwhile.
                self.answered = store.clock.contender_now();
            }
        }
    }

    /// Sleeps for this pause; returns whether a wake-up came meanwhile. The wake-up is followed only after the pause,
    /// since it may come from the remains of a failed try, time and again. A term of our own client takes no call, and
    /// ends the pause. Breaks if the wait has ended.
    async fn rest_after_failure(
        &mut self,
        sender: &Sender<Answer>,
        freed: Pin<&mut Notified<'_>>,
        pause: Duration,
    ) -> ControlFlow<Option<Answer>, bool> {
        let lock = Arc::clone(&self.lock);
        let queue = Arc::clone(&self.queue);
        let Settings { store, state, .. } = &*lock;
        let since = store.clock.contender_now();
        if !self.rest(sender, freed, pause).await? {
            return ControlFlow::Continue(false);
        }
        loop {
            // Armed before the check.
            let mut freed = std::pin::pin!(queue.freed.notified());
            freed.as_mut().enable();
            let left = pause.saturating_sub(store.clock.elapsed(since));
            if left.is_zero()
                || state.is_offered(queue.runtime)
                || !self.rest(sender, freed, left).await?
            {
                return ControlFlow::Continue(true);
            }
        }
    }

    /// Sleeps for this pause, or until a wake-up ends it; returns whether one did. Breaks if the wait has ended. The
    /// pause comes from `until_next_try` after a refusal, from `Store::pause_after_failure` without an answer, and from
    /// `pause_for_term` while a term is expected to continue.
    async fn rest(
        &mut self,
        sender: &Sender<Answer>,
        freed: Pin<&mut Notified<'_>>,
        pause: Duration,
    ) -> ControlFlow<Option<Answer>, bool> {
        let clock = self.lock.store.clock.clone();
        let closing = self.lock.store.closing();
        tokio::select! {
            biased;
            () = sender.abandoned() => ControlFlow::Break(None),
            () = closing.cancelled() => ControlFlow::Break(Some(Err(Error::Closed))),
            // A redeemer waits for no release.
            () = freed, if self.ticket.is_none() => ControlFlow::Continue(true),
            () = self.out_of_time() => ControlFlow::Break(Some(Err(self.timeout()))),
            () = clock.pause(pause) => ControlFlow::Continue(false),
        }
    }
}

/// Notifies the tries when their caller goes away: a try in flight runs to its answer, and is not repeated. A turn goes
/// with the caller, and anything offered meanwhile is offered to others.
async fn as_long_as_wanted<T>(
    sender: &Sender<Answer>,
    gone: &CallerGone,
    mut tries: Pin<&mut impl Future<Output = T>>,
) -> T {
    tokio::select! {
        biased;
        end = &mut tries => end,
        () = sender.abandoned() => {
            gone.cancel();
            tries.await
        }
    }
}
