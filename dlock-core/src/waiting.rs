//! Waiting for a lock: turns, tries, pauses, limits, and handing the grant to whoever asked for it
//! (W1 to W7); what is left by a holder of this client, or by a ticket, comes first (H1, H9).

mod acquire;
mod asking;
mod attempt;
mod call;
mod claiming;
mod handoff;
mod leaving;
mod line;
mod reserving;
mod settings;
mod times;
mod yielding;

use std::{
    future::ready,
    ops::ControlFlow,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use tokio::sync::futures::Notified;
use tokio_util::sync::CancellationToken;

pub(crate) use self::{
    acquire::acquire,
    settings::{Settings, checked_name},
};
use self::{
    handoff::Giver,
    line::Line,
    reserving::{PassedOver, Reservation},
};
use crate::{
    Error, Holder, ProviderError, Ticket, Version, emit,
    lease::Holding,
    names::{Entered, Slots},
    store::listener,
    time::ContenderInstant,
};

/// How long an acquire may take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// One try, whoever waits (W1).
    No,
    /// As long as it takes, or this long in all.
    Limit(Option<Duration>),
}

/// What an acquire ends with.
pub(crate) enum Acquired {
    Holding(Holding),
    Held(Holder),
}

/// One caller's wish for the lock.
struct Contender {
    lock: Arc<Settings>,
    wait: Wait,
    /// What a ticket claims, as long as it may be worth something (H8).
    ticket: Option<Version>,
    /// For how long it closes the name (B4).
    closes_for: Duration,
    started: ContenderInstant,
    /// When the store last answered, or we began to ask it. A refusal by a try of our own that is
    /// over and a spent try are answers too; a grant that came too late is none (W5).
    answered: ContenderInstant,
    /// Nobody waits for the answer any more, or not in this place.
    gone: CancellationToken,
    /// Since when it lets terms of others go by, and what its next try leaves to them (F1).
    entered: Entered,
    left_slots: Slots,
    /// Whether the lock goes from hand to hand without it, and what it did about that (W8).
    passed_over: PassedOver,
    reservation: Option<Reservation>,
    /// Who held the lock when the store last answered.
    seen: Option<Holder>,
    /// It was said that this client holds it itself.
    warned: bool,
    /// The last error since then.
    error: Option<ProviderError>,
}

type Answer = Result<Acquired, Error>;

impl Contender {
    fn new(
        lock: &Arc<Settings>,
        wait: Wait,
        ticket: Option<&Ticket>,
        started: ContenderInstant,
        gone: CancellationToken,
    ) -> Self {
        Self {
            lock: Arc::clone(lock),
            wait,
            ticket: ticket.map(Ticket::version),
            closes_for: ticket.map_or(Duration::ZERO, Ticket::closes_for),
            started,
            answered: started,
            gone,
            entered: lock.state.enter(),
            left_slots: 0,
            passed_over: PassedOver::default(),
            reservation: None,
            seen: None,
            warned: false,
            error: None,
        }
    }

    async fn run(mut self, giver: Giver<Answer>, line: Line, queues: bool) {
        let lock = Arc::clone(&self.lock);
        let answer = match self.wait {
            _ if queues => self.queue(&giver, &line).await,
            Wait::No => self.once(&giver).await,
            Wait::Limit(_) => self.redeem(&giver, &line).await,
        };
        // With what was offered to it (H1).
        line.leave();
        self.reservation = None;
        let Some(answer) = self.for_caller(answer) else {
            return giver.send_back();
        };
        let Ok(Acquired::Holding(holding)) = &answer else {
            return giver.leave(answer);
        };
        if self.ticket.is_some() && !self.closes_for.is_zero() {
            holding.term().closes_for(self.closes_for);
        }
        emit::contained(|| {
            tracing::Span::current().record("token", holding.term().token.get());
        });
        // W6. A grant that comes back is dropped here, and so released.
        let patience = lock.store.clock.pause(lock.plan.pickup());
        drop(giver.give(answer, patience).await);
    }

    /// One try of our own, whoever waits. `None` if the caller has gone away before it.
    async fn once(&mut self, giver: &Giver<Answer>) -> Option<Answer> {
        // What a ticket opens waits for nothing.
        let turn = tokio::select! {
            biased;
            turn = self.turn(), if self.ticket.is_none() => turn,
            () = giver.abandoned(), if self.ticket.is_none() => return None,
            else => Ok(()),
        };
        if let Err(error) = turn {
            return Some(Err(error.into()));
        }
        Some(match self.ask(None).await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => match (self.error.take(), self.seen.take()) {
                (Some(error), _) => Err(error.into()),
                (None, Some(holder)) => Ok(Acquired::Held(holder)),
                (None, None) => Err(ProviderError::unknown("the store gave no answer").into()),
            },
            Err(error) => Err(error),
        })
    }

    /// Redeems a ticket, in no queue. Once it is refused it is worth nothing, and its owner waits like
    /// everybody else.
    async fn redeem(&mut self, giver: &Giver<Answer>, line: &Line) -> Option<Answer> {
        tokio::select! {
            biased;
            // Nothing was sent yet: the ticket is as good as before.
            () = giver.abandoned() => return None,
            () = ready(()) => {}
        }
        let answer = self.contend(giver).await;
        let Some(Ok(Acquired::Held(holder))) = answer else {
            return answer;
        };
        self.seen = Some(holder);
        self.ticket = None;
        line.join(&self.lock).await;
        self.queue(giver, line).await
    }

    /// Waits for our turn, then contends (W1). `None` if the caller has gone away.
    async fn queue(&mut self, giver: &Giver<Answer>, line: &Line) -> Option<Answer> {
        let lock = Arc::clone(&self.lock);
        let closing = lock.store.closing();
        tokio::select! {
            biased;
            () = giver.abandoned() => return None,
            () = closing.cancelled() => return Some(Err(Error::Closed)),
            // Before our turn: a caller who was away may be back only after its limit (W4).
            () = self.out_of_time() => return Some(Err(self.timeout())),
            () = line.turn(&lock) => {}
        }
        let gone = self.gone.clone();
        let mut contending = pin!(self.contend(giver));
        tokio::select! {
            biased;
            answer = &mut contending => answer,
            // A try that is under way runs to its answer (G1), and is not repeated. The turn went with
            // the caller; what is offered meanwhile is offered to others (H3).
            () = giver.abandoned() => {
                gone.cancel();
                contending.await
            }
        }
    }

    /// Tries until the lock is ours, time is up, or nothing will help.
    async fn contend(&mut self, giver: &Giver<Answer>) -> Option<Answer> {
        let lock = Arc::clone(&self.lock);
        let Settings { store, state, .. } = &*lock;
        listener::ensure(store, &lock.plan);
        if let ControlFlow::Break(end) = self.let_others_first(giver).await {
            return end;
        }
        self.answered = store.clock.contender_now();
        // Who was refused with a ticket asks anew when its turn has come, and does not look.
        let mut woken = self.seen.is_some();
        let mut expecting = true;
        loop {
            if let ControlFlow::Break(end) = self.leave_to_others(giver).await {
                return end;
            }
            // W3: listen first, ask second.
            let mut freed = std::pin::pin!(state.freed.notified());
            freed.as_mut().enable();
            // What is handed on waits for nothing.
            let turn = if state.is_offered() {
                Ok(())
            } else {
                self.turn().await
            };
            if freed.as_mut().enable() {
                // Rung before our turn.
                woken = true;
                freed.set(state.freed.notified());
                freed.as_mut().enable();
            }

            if self.gone.is_cancelled() {
                return None;
            }
            if woken && self.left().is_some_and(|left| left.is_zero()) {
                return Some(Err(self.timeout()));
            }
            let offer = self.take_offer();
            // Without a turn nothing is asked, and what woke us has not been followed yet (W3).
            let still_woken = woken && turn.is_err() && offer.is_none();
            let expected = self
                .hand_over_expected()
                .filter(|_| expecting && offer.is_none());
            expecting = false;
            let pause = match expected {
                Some(pause) => pause,
                None => match self.question(offer, std::mem::take(&mut woken), turn).await {
                    ControlFlow::Continue(pause) => pause,
                    ControlFlow::Break(answer) => return Some(answer),
                },
            };
            if self.left().is_some_and(|left| left.is_zero()) {
                return Some(Err(self.timeout()));
            }
            self.left_slots = 0;
            match self.rest(giver, freed, pause).await {
                ControlFlow::Break(end) => return end,
                ControlFlow::Continue(rung) => woken = rung,
            }
            if expected.is_some() {
                // It has not asked (W5).
                self.answered = store.clock.contender_now();
            }
            if woken && let ControlFlow::Break(end) = self.let_seniors_first(giver).await {
                return end;
            }
            woken |= still_woken;
        }
    }

    /// Sleeps, but not past a wake-up: whether there was one. Or ends with the wait.
    async fn rest(
        &mut self,
        giver: &Giver<Answer>,
        freed: Pin<&mut Notified<'_>>,
        pause: Duration,
    ) -> ControlFlow<Option<Answer>, bool> {
        let clock = self.lock.store.clock.clone();
        let closing = self.lock.store.closing();
        tokio::select! {
            biased;
            () = giver.abandoned() => ControlFlow::Break(None),
            () = closing.cancelled() => ControlFlow::Break(Some(Err(Error::Closed))),
            // Who has a ticket waits for no release.
            () = freed, if self.ticket.is_none() => ControlFlow::Continue(true),
            () = clock.pause(pause) => ControlFlow::Continue(false),
            () = self.out_of_time() => ControlFlow::Break(Some(Err(self.timeout()))),
        }
    }
}
