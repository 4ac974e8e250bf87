//! Waiting for a lock: turns, tries, pauses, limits, and handing the grant over (W1 to W7).

use std::{
    future::{poll_fn, ready},
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering},
    task::Poll,
    time::Duration,
};

use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit},
    task::unconstrained,
};
use tracing::Instrument;
use uuid::Uuid;

use crate::{
    Error, ErrorKind, Holder, ProviderError, Record,
    attempt::{self, TryEnd},
    clock::Look,
    handoff::{Giver, Taken, handoff},
    holding::Holding,
    listener,
    lock::Settings,
    names::NameState,
    recorder::Call,
};

/// The closest two tries of one waiter come (W2).
const LEAST_PAUSE: Duration = Duration::from_millis(10);

/// How many tries in a row `Spent`, G4 and V9 may call for. None of them can come twice in a row
/// for the same reason from a store that keeps the rules, unless it is slower than the lease.
const AT_ONCE: usize = 6;

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

/// Acquires, and tells the recorder when there is one.
pub(crate) async fn acquire(lock: &Arc<Settings>, wait: Wait) -> Result<Acquired, Error> {
    let call = Call::begin(lock, wait);
    let answer = ask_for(lock, wait).await;
    if let Some(call) = call {
        call.end(&answer);
    }
    answer
}

/// Acquires in a task of ours, so that what was sent runs to its answer when the caller goes away
/// (G1), and waiting does not depend on the caller's polls (W6).
async fn ask_for(lock: &Arc<Settings>, wait: Wait) -> Result<Acquired, Error> {
    let started = lock.shared.clock.look();
    loop {
        if lock.shared.is_closed() {
            return Err(Error::Closed);
        }
        let (giver, mut taker) = handoff();
        let turn = match wait {
            Wait::No => None,
            Wait::Limit(_) => Some(line_up(&lock.state).await),
        };
        let contender = Contender {
            lock: Arc::clone(lock),
            wait,
            started,
            answered: started,
            seen: None,
            error: None,
        };
        let span = tracing::debug_span!(
            "acquire",
            lock = %lock.name,
            backend = lock.shared.backend,
            token = tracing::field::Empty
        );
        let errand = lock.shared.errand();
        tokio::spawn(
            async move {
                contender.run(giver, turn).await;
                drop(errand);
            }
            .instrument(span),
        );
        match taker.take().await {
            // It was valid when it was granted, and waited for us too long since (V9). Dropped, it
            // is released.
            Taken::Value(Ok(Acquired::Holding(holding)))
                if !holding.term().is_valid()
                    && !planted!(DeadGrantHandedOut)
                    && !planted!(LateGrantHandedOut) =>
            {
                tracing::debug!("the grant had run out before it was picked up; asking anew");
            }
            Taken::Value(answer) => return answer,
            // We were away for too long; now that we are back, we queue again (W6).
            Taken::GivenBack => {}
            Taken::Gone => {
                return Err(
                    ProviderError::unknown("the task that acquired the lock was cut off").into(),
                );
            }
        }
    }
}

/// Our turn, once it comes.
type Turn = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

/// Takes a place in the queue (W1), at once and in the caller's own poll. In tasks of ours two
/// callers would be served in the order in which the runtime happens to start those tasks.
async fn line_up(state: &NameState) -> Turn {
    let mut turn: Turn = Box::pin(Arc::clone(&state.turn).acquire_owned());
    // Without a budget: a poll that is put off takes no place.
    let mut first = pin!(unconstrained(turn.as_mut()));
    match poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await {
        Poll::Ready(taken) => Box::pin(ready(taken)),
        Poll::Pending => turn,
    }
}

/// One caller's wish for the lock.
struct Contender {
    lock: Arc<Settings>,
    wait: Wait,
    started: Look,
    /// When the store last answered, or we began to ask it. A look, a refusal by a try of our own
    /// that is over and a spent try are answers too; a grant that came too late is none (W5).
    answered: Look,
    /// Who held the lock when the store last answered.
    seen: Option<Holder>,
    /// The last error since then.
    error: Option<ProviderError>,
}

type Answer = Result<Acquired, Error>;

impl Contender {
    async fn run(mut self, giver: Giver<Answer>, turn: Option<Turn>) {
        let lock = Arc::clone(&self.lock);
        let answer = match turn {
            None => self.once().await,
            Some(turn) => match self.queue(&giver, turn).await {
                Some(answer) => answer,
                None => return,
            },
        };
        let Ok(Acquired::Holding(holding)) = &answer else {
            return giver.leave(answer);
        };
        tracing::Span::current().record("token", holding.term().token.get());
        // W6. A grant that comes back is dropped here, and so released.
        let patience = lock.shared.clock.pause(lock.plan.pickup());
        let back = giver.give(answer, patience).await;
        if planted!(CancelForgets) {
            std::mem::forget(back);
        }
    }

    /// One try of our own, whoever waits.
    async fn once(&mut self) -> Answer {
        if planted!(TryQueues) {
            let _turn = self.lock.state.turn.acquire().await;
        }
        match self.ask().await? {
            Some(answer) => Ok(answer),
            None => match (self.error.take(), self.seen.take()) {
                (Some(error), _) => Err(error.into()),
                (None, Some(holder)) => Ok(Acquired::Held(holder)),
                (None, None) => Err(ProviderError::unknown("the store gave no answer").into()),
            },
        }
    }

    /// Waits for our turn, then contends (W1). `None` if the caller has gone away.
    async fn queue(&mut self, giver: &Giver<Answer>, turn: Turn) -> Option<Answer> {
        let lock = Arc::clone(&self.lock);
        let closing = lock.shared.closing();
        let turn = tokio::select! {
            biased;
            () = giver.abandoned(), if !planted!(AbandonedWaits) => return None,
            () = closing.raised(), if !planted!(CloseUnheard) => {
                return Some(Err(Error::Closed));
            }
            // Before our turn: a caller who was away may be back only after its limit (W4).
            () = self.out_of_time(), if !planted!(QueueUncounted) => {
                return Some(Err(self.timeout()));
            }
            turn = turn => turn,
        };
        if planted!(NoTurns) {
            drop(turn);
            return self.contend(giver).await;
        }
        let answer = self.contend(giver).await;
        drop(turn);
        answer
    }

    /// Tries until the lock is ours, time is up, or nothing will help.
    async fn contend(&mut self, giver: &Giver<Answer>) -> Option<Answer> {
        let lock = Arc::clone(&self.lock);
        let Settings {
            shared,
            state,
            plan,
            ..
        } = &*lock;
        let closing = shared.closing();
        self.answered = shared.clock.look();
        listener::ensure(shared);
        let mut woken = false;
        loop {
            // W3: listen first, ask second.
            let mut freed = std::pin::pin!(state.freed.notified());
            freed.as_mut().enable();

            // Who was woken has reason to expect a grant.
            let answer = if !woken && self.may_look() {
                self.look().await
            } else {
                self.ask().await
            };
            woken = false;
            let pause = match answer {
                Ok(Some(Acquired::Holding(holding))) => {
                    return Some(Ok(Acquired::Holding(holding)));
                }
                Ok(Some(Acquired::Held(holder))) => {
                    let pause = self.until_next_try(&holder.record);
                    tracing::debug!(owner = %holder.record.owner, ?pause, "held by another");
                    self.seen = Some(holder);
                    self.error = None;
                    pause
                }
                Ok(None) => {
                    if let Some(error) = &self.error
                        && (shared.clock.elapsed(self.answered) >= plan.give_up_after
                            || planted!(GivesUpAtOnce))
                        && !planted!(SilentStoreForEver)
                    {
                        return Some(Err(error.clone().into()));
                    }
                    shared.pause_after_failure(plan.duration)
                }
                Err(_) if planted!(FatalRetried) => plan.poll_every,
                Err(error) => return Some(Err(error)),
            };
            if self.left().is_some_and(|left| left.is_zero()) {
                return Some(Err(self.timeout()));
            }
            tokio::select! {
                biased;
                () = giver.abandoned(), if !planted!(AbandonedWaits) => return None,
                () = closing.raised(), if !planted!(CloseUnheard) => {
                    return Some(Err(Error::Closed));
                }
                () = freed, if !planted!(WakeupIgnored) => woken = true,
                () = shared.clock.pause(pause) => {}
                () = self.out_of_time() => return Some(Err(self.timeout())),
            }
        }
    }

    /// Whether to look before asking again: a look must be the cheaper one, somebody must have been
    /// seen, and as far as we know must still be there.
    fn may_look(&self) -> bool {
        let Settings {
            shared,
            state,
            plan,
            ..
        } = &*self.lock;
        (shared.cheap_reads || planted!(LooksAtAnyCost))
            && self.seen.is_some()
            && (state.claim(&shared.clock, plan.duration).is_none() || planted!(LooksForEver))
    }

    /// Reads the record, which observes as well as a refusal does (section 3), and asks only if
    /// there is something to get.
    async fn look(&mut self) -> Result<Option<Acquired>, Error> {
        let lock = Arc::clone(&self.lock);
        let Settings {
            shared,
            state,
            name,
            plan,
            ..
        } = &*lock;
        // W4.
        let limit = self.left().unwrap_or(Duration::MAX).min(plan.attempt());
        let limit = if planted!(LookUnbounded) {
            Duration::from_secs(3600)
        } else {
            limit
        };
        let record = match shared.call(limit, shared.provider.read(name)).await {
            Ok(record) => record,
            Err(error) if error.kind() == ErrorKind::Fatal && !planted!(FatalLookRetried) => {
                return Err(error.into());
            }
            Err(error) => {
                self.error = Some(error);
                return Ok(None);
            }
        };
        if !planted!(LookIsNoAnswer) {
            self.answered = shared.clock.look();
        }
        let Some(record) = record else {
            return self.ask().await;
        };
        if !planted!(LookUnobserved) {
            state.saw(&shared.clock, &record);
        }
        let free = (record.released && !planted!(FreeLookIgnored))
            || record.remaining == Some(Duration::ZERO)
            || state.is_over(&shared.clock, record.uuid);
        if free {
            return self.ask().await;
        }
        let ours = state.is_live(record.uuid);
        Ok(Some(Acquired::Held(Holder { record, ours })))
    }

    /// One try, and those that `Spent`, G4 and V9 call for at once. `None`: no answer, and the last
    /// error says why.
    async fn ask(&mut self) -> Result<Option<Acquired>, Error> {
        let lock = Arc::clone(&self.lock);
        let Settings {
            shared,
            state,
            plan,
            ..
        } = &*lock;
        state.forget_old_observation(&shared.clock);
        let mut prev = state.claim(&shared.clock, plan.duration);
        for _ in 0..AT_ONCE {
            // W5: each try draws anew.
            let uuid = self.draw()?;
            match attempt::run(&lock, uuid, prev, || self.left()).await {
                TryEnd::Granted(holding) => return Ok(Some(Acquired::Holding(holding))),
                TryEnd::Held(record) => {
                    self.answered = shared.clock.look();
                    state.saw(&shared.clock, &record);
                    if prev != Some(record.version()) && state.is_over(&shared.clock, record.uuid) {
                        tracing::debug!("refused by a try of our own that is over");
                        prev = Some(record.version());
                        continue;
                    }
                    let ours = state.is_live(record.uuid);
                    return Ok(Some(Acquired::Held(Holder { record, ours })));
                }
                TryEnd::Spent if planted!(SpentIsContention) => return Ok(None),
                TryEnd::Spent => {
                    self.answered = shared.clock.look();
                    tracing::debug!("spent; asking anew");
                }
                TryEnd::Late => {
                    tracing::debug!("granted too late; asking anew");
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
            if self.left().is_some_and(|left| left.is_zero()) {
                break;
            }
            prev = state.claim(&shared.clock, plan.duration);
        }
        Ok(None)
    }

    fn draw(&self) -> Result<Uuid, ProviderError> {
        let Settings { shared, name, .. } = &*self.lock;
        if planted!(UuidReused) {
            return Ok(Uuid::from_u128(
                u128::from(std::process::id()) << 64 | name.as_str().len() as u128,
            ));
        }
        shared.entropy.uuid()
    }

    /// W2: the first of the expiry, the end of the observation and the poll. Jitter only delays.
    fn until_next_try(&self, record: &Record) -> Duration {
        let Settings {
            shared,
            state,
            plan,
            ..
        } = &*self.lock;
        let watching = shared.watching.load(Ordering::SeqCst);
        let poll = if watching {
            plan.poll_watched
        } else {
            plan.poll_every
        };
        let poll_in = if planted!(NoPoll) && watching {
            Duration::from_secs(3600)
        } else if planted!(PollTwiceAsOften) {
            poll / 2
        } else {
            poll + shared.entropy.jitter(poll / 5)
        };
        let after = |left: Duration| left + shared.entropy.jitter(plan.expiry_jitter());
        // A hint: never more than the record's own duration.
        let expiry_in = record
            .remaining
            .filter(|_| !planted!(RemainingIgnored))
            .map(|left| after(left.min(record.duration)));
        let observed_in = state
            .observation_left(&shared.clock)
            .filter(|_| !planted!(ObservationSleptThrough))
            .map(after);
        let next = [expiry_in, observed_in]
            .into_iter()
            .flatten()
            .fold(poll_in, Duration::min);
        if planted!(NoSpacing) {
            next.max(Duration::from_micros(100))
        } else {
            next.max(LEAST_PAUSE.min(poll))
        }
    }

    /// What is left of the caller's limit, which is a total (W4).
    fn left(&self) -> Option<Duration> {
        match self.wait {
            Wait::No | Wait::Limit(None) => None,
            Wait::Limit(Some(_)) if planted!(LimitPerTry) && self.error.is_none() => None,
            Wait::Limit(Some(limit)) => {
                Some(limit.saturating_sub(self.lock.shared.clock.elapsed(self.started)))
            }
        }
    }

    async fn out_of_time(&self) {
        while let Some(left) = self.left() {
            if left.is_zero() {
                return;
            }
            self.lock.shared.clock.pause(left).await;
        }
        std::future::pending::<()>().await;
    }

    fn timeout(&mut self) -> Error {
        Error::Timeout {
            waited: self.lock.shared.clock.elapsed(self.started),
            holder: self.seen.take().map(Box::new),
            source: self.error.take(),
        }
    }
}
