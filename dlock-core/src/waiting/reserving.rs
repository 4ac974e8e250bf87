//! A waiter that is passed over while the lock goes from hand to hand (W8; F7 to F10) makes a reservation, a
//! lease on a name beside the lock's, which the client that keeps the lock to itself reads now and then
//! (`leaving`).
//!
//! A reservation is a hint: it grants nothing, and nothing but the order of waiters depends on it. It is an
//! ordinary lease of that name, so every store has reservations, a waiter that dies leaves one that runs
//! out, and of all waiters one at a time has it. A second lease of the same kind is the place behind it, so
//! that the next waiter to have the reservation is the one that came next.

#[cfg(test)]
mod tests;

use std::{
    future::ready,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, task::JoinHandle};

use super::{Acquired, Contender, Wait, acquire, asking::held};
use crate::{
    Clock, Error, ErrorKind, FencingToken, Holder, ProviderError, Record,
    lease::{Holding, Settings, renewal},
    time::{ContenderInstant, LEAST_PAUSE},
};

/// What a contender has seen of the holders while it waited.
#[derive(Default)]
pub(super) struct PassedOver {
    /// The first few holders, by their labels, and the term of each when it was first seen.
    owners: Vec<(String, Seen)>,
    /// The newest term, and since when none has lasted for long.
    newest: Option<Seen>,
    brisk: Option<ContenderInstant>,
    /// Whether the newest one had lasted for long when the question that is under way began.
    lasted: Option<bool>,
}

/// A term, and when it was first seen. Its token names it: a closing or a revocation changes the uuid and
/// begins no term.
#[derive(Clone, Copy)]
struct Seen {
    term: FencingToken,
    at: ContenderInstant,
}

/// The most holders that are told apart.
const OWNERS_KEPT: usize = 8;

/// F8: a reservation that is being made, or kept, by a task of its own. Dropping it gives it back.
pub(super) struct Reservation {
    task: JoinHandle<()>,
    status: Arc<Status>,
}

/// What the task of a reservation and its contender share.
#[derive(Default)]
struct Status {
    /// Whose reservation it was when the task last heard of it.
    whose: AtomicU8,
    /// The contender has seen another term.
    another_term: Notify,
}

const NOBODYS: u8 = 0;
const OURS: u8 = 1;
const ANOTHERS: u8 = 2;

impl Contender {
    /// Makes a reservation, if this contender is passed over. A lock that one holder keeps for long needs
    /// none, nor do few clients that take turns.
    pub(super) fn reserve_if_passed_over(&mut self, holder: &Holder) {
        let Settings { store, plan, .. } = &*self.lock;
        // A name that is closed is kept by nobody (B4).
        if holder.ours || holder.record.is_closed() || !plan.reservations {
            return;
        }
        let before = self.passed_over.newest_term();
        let passed_over = self
            .passed_over
            .by(&holder.record, plan.poll_every, &store.clock);
        match &self.reservation {
            Some(reservation) if before != self.passed_over.newest_term() => {
                reservation.status.another_term.notify_one();
            }
            None if passed_over => {
                self.reservation = Reservation::begin(&self.lock);
            }
            _ => {}
        }
    }
}

impl PassedOver {
    /// A question begins. The time until its answer says nothing of the newest term, which may be over already: far
    /// from the store a question takes longer than a short term.
    pub(super) fn asks(&mut self, poll: Duration, clock: &Clock) {
        self.lasted = Some(self.has_lasted(poll, clock));
    }

    /// F7: whether this holder's term follows another one of the same holder, which was seen at least a poll
    /// ago; or for a poll the lock has gone from hand to hand. Labels may differ from term to term.
    fn by(&mut self, record: &Record, poll: Duration, clock: &Clock) -> bool {
        let now = Seen {
            term: record.token,
            at: clock.contender_now(),
        };
        let brisk = *self.brisk.get_or_insert(now.at);
        let until_asked = self.lasted.take();
        let lasted = until_asked.unwrap_or_else(|| self.has_lasted(poll, clock));
        if lasted {
            self.brisk = Some(now.at);
        }
        let newest = *self.newest.get_or_insert(now);
        if newest.term != now.term {
            self.newest = Some(now);
            if !lasted && clock.elapsed(brisk) >= poll {
                return true;
            }
        }
        let owner = &record.owner;
        if let Some((_, first)) = self.owners.iter().find(|(label, _)| label == owner) {
            return first.term != now.term && clock.elapsed(first.at) >= poll;
        }
        if self.owners.len() < OWNERS_KEPT {
            self.owners.push((owner.clone(), now));
        }
        false
    }

    /// Whether the newest term began no longer than two polls ago.
    pub(super) fn is_brisk(&self, poll: Duration, clock: &Clock) -> bool {
        self.newest
            .is_some_and(|newest| clock.elapsed(newest.at) <= 2 * poll)
    }

    fn has_lasted(&self, poll: Duration, clock: &Clock) -> bool {
        self.newest.is_some() && !self.is_brisk(poll, clock)
    }

    fn newest_term(&self) -> Option<FencingToken> {
        self.newest.map(|newest| newest.term)
    }
}

impl Reservation {
    /// `None` if the lock's name leaves no room for that of a reservation.
    fn begin(lock: &Settings) -> Option<Self> {
        let Settings { store, owner, .. } = lock;
        let plan = Arc::new(lock.plan.of_reservation());
        let [first, second] = lock.name.reservations()?.map(|name| {
            Arc::new(Settings {
                store: Arc::clone(store),
                state: store.names.get(&name, &store.clock),
                name,
                owner: Arc::clone(owner),
                plan: Arc::clone(&plan),
                data: None,
            })
        });
        let tracked = store.track(&plan);
        let status = Arc::<Status>::default();
        let places = Places {
            first,
            second,
            status: Arc::clone(&status),
            another_term: store.clock.contender_now(),
        };
        let task = tokio::spawn(async move {
            places.run().await;
            drop(tracked);
        });
        Some(Self { task, status })
    }

    /// F10: this contender has it: the lock is left to it, and it asks more often than others.
    pub(super) fn is_ours(&self) -> bool {
        self.is(OURS)
    }

    /// F13: a waiter of another client has it, and goes first.
    pub(super) fn is_anothers(&self) -> bool {
        self.is(ANOTHERS)
    }

    fn is(&self, whose: u8) -> bool {
        // A provider that panicked has ended the task, and its last status is no longer true.
        !self.task.is_finished() && self.status.whose.load(Ordering::Relaxed) == whose
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // A try that is under way runs to its end elsewhere (G1), and a lease is given back (G3). A renewal is
        // dropped in flight: if it comes after the release, the store refuses it (R3).
        self.task.abort();
    }
}

/// F9: two leases in which waiters stand one behind the other: the first is the reservation, and the second keeps
/// the order of those who come next.
struct Places {
    first: Arc<Settings>,
    second: Arc<Settings>,
    status: Arc<Status>,
    /// When the contender last saw a new term.
    another_term: ContenderInstant,
}

impl Places {
    /// Boxed, since the call that waits for a lock comes to this one.
    fn run(mut self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            // `None`: asking again cannot help.
            while self.move_up().await.is_some() {}
            self.report(NOBODYS);
        })
    }

    /// From the second place to the first, which is kept until it is lost.
    async fn move_up(&mut self) -> Option<()> {
        let (first, second) = (Arc::clone(&self.first), Arc::clone(&self.second));
        let place = self.take(&second, second.plan.poll_every).await?;
        let reservation = tokio::select! {
            biased;
            reservation = self.take(&first, first.plan.poll_reserved()) => reservation?,
            () = kept(&place) => return Some(()),
        };
        drop(place);
        self.report(OURS);
        kept(&reservation).await;
        self.report(NOBODYS);
        Some(())
    }

    /// Takes a place. While another waiter has it, asks as long as the lock goes from hand to hand.
    async fn take(&mut self, place: &Arc<Settings>, pause: Duration) -> Option<Holding> {
        let Settings { store, plan, .. } = &**place;
        let clock = &store.clock;
        loop {
            let refused = match self.try_place(place).await {
                Ok(Some(holding)) => return Some(holding),
                Ok(None) => true,
                Err(Error::Provider(error)) if error.kind() != ErrorKind::Fatal => false,
                Err(_) => return None,
            };
            self.report(if refused { ANOTHERS } else { NOBODYS });
            let pause = pause.max(LEAST_PAUSE);
            clock.pause(pause + store.entropy.jitter(pause / 5)).await;
            tokio::select! {
                biased;
                () = self.status.another_term.notified() => self.another_term = clock.contender_now(),
                () = ready(()), if clock.elapsed(self.another_term) <= 2 * plan.poll_every => {}
            }
        }
    }

    /// Tries to take a place. Many stand behind the second one, so each of them looks first where that costs
    /// less.
    async fn try_place(&self, place: &Arc<Settings>) -> Result<Option<Holding>, Error> {
        if Arc::ptr_eq(place, &self.second) && is_taken(place).await? {
            return Ok(None);
        }
        Ok(match acquire(place, Wait::No, None).await? {
            Acquired::Holding(holding) => Some(holding),
            Acquired::Held(_) => None,
        })
    }

    fn report(&self, whose: u8) {
        self.status.whose.store(whose, Ordering::Relaxed);
    }
}

/// Whether a look shows that another has this place. `false` also where a look is of no use.
async fn is_taken(place: &Settings) -> Result<bool, ProviderError> {
    let Settings {
        store, state, plan, ..
    } = place;
    // In an outage a try waits for its turn, and a look does not.
    if !store.cheap_reads || state.claim(&store.clock).is_some() || store.outage.is_on() {
        return Ok(false);
    }
    Ok(held(place, || plan.attempt()).await?.is_some())
}

/// Renews a lease until it is lost. An attempt without an answer is no loss; the next one comes after the
/// pause.
async fn kept(holding: &Holding) {
    let term = holding.term();
    while term.is_valid() {
        term.store.clock.pause(term.plan.renew_every).await;
        let _answered = renewal::attempt(term).await.is_ok();
    }
}
