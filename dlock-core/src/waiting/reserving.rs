//! What a waiter does when the lock goes from hand to hand without it (W8): it makes a reservation, a lease
//! on a name beside the lock's, which the client that keeps the lock to itself looks for now and then
//! (`leaving`).
//!
//! A reservation is a hint: it grants nothing, and nothing but the order of waiters depends on it. It is an
//! ordinary lease of that name, so every store has reservations, a waiter that dies leaves one that runs
//! out, and of all waiters one at a time has it.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use tokio::task::JoinHandle;
use uuid::Uuid;

use super::{Acquired, Contender, Wait, acquire, pausing::LEAST_PAUSE};
use crate::{Error, ErrorKind, Holder, clock::Look, lock::Settings, renewal};

/// What a contender has seen of the holders that refused it.
#[derive(Default)]
pub(super) struct PassedOver {
    first: Option<First>,
}

/// The first of them, and when it was seen.
struct First {
    term: Uuid,
    seen: Look,
}

/// A reservation that is being made, or kept, by a task of its own. Dropping it gives it back.
pub(super) struct Reservation {
    task: JoinHandle<()>,
    whose: Arc<AtomicU8>,
}

/// Whose reservation it was when the task last heard of it.
const NOBODYS: u8 = 0;
const OURS: u8 = 1;
const ANOTHERS: u8 = 2;

impl Contender {
    /// Makes a reservation, if another client's term has followed another's while this contender waited for
    /// more than a poll. A lock that one holder keeps for long needs none, nor do clients that take turns
    /// in less than that.
    pub(super) fn reserve_if_passed_over(&mut self, holder: &Holder) {
        let Settings { shared, plan, .. } = &*self.lock;
        if holder.ours || !plan.reservations {
            return;
        }
        let term = holder.record.uuid;
        let first = self.passed_over.first.get_or_insert_with(|| First {
            term,
            seen: shared.clock.look(),
        });
        let passed_over = first.term != term && shared.clock.elapsed(first.seen) >= plan.poll_every;
        if passed_over && self.reservation.is_none() && !planted!(NeverReserves) {
            self.reservation = Reservation::begin(&self.lock);
        }
    }
}

impl Reservation {
    /// `None` if the lock's name leaves no room for that of a reservation.
    fn begin(lock: &Settings) -> Option<Self> {
        let name = lock.name.reservation()?;
        let Settings { shared, owner, .. } = lock;
        let settings = Arc::new(Settings {
            shared: Arc::clone(shared),
            state: shared.names.get(&name, &shared.clock),
            name,
            owner: Arc::clone(owner),
            plan: Arc::new(lock.plan.of_reservation()),
            data: None,
        });
        let errand = shared.errand(&lock.plan);
        let whose = Arc::<AtomicU8>::default();
        let task = keep(settings, Arc::clone(&whose));
        let task = tokio::spawn(async move {
            task.await;
            drop(errand);
        });
        Some(Self { task, whose })
    }

    /// This contender has it: the lock is left to it, and it asks more often than others.
    pub(super) fn is_ours(&self) -> bool {
        self.whose.load(Ordering::Relaxed) == OURS
    }

    /// A waiter of another client has it, and goes first.
    pub(super) fn is_anothers(&self) -> bool {
        self.whose.load(Ordering::Relaxed) == ANOTHERS
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // What is under way runs to its end elsewhere (G1); a lease is given back (G3).
        self.task.abort();
    }
}

/// Gets the reservation, and renews it once in a poll: each version of it is heeded once. Ends if asking
/// again cannot help. Boxed, since the call that waits for a lock comes to this one.
fn keep(lock: Arc<Settings>, whose: Arc<AtomicU8>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let tell = |now| whose.store(now, Ordering::Relaxed);
        loop {
            match acquire(&lock, Wait::No, None).await {
                Ok(Acquired::Holding(holding)) => {
                    tell(OURS);
                    let term = holding.term();
                    pause(&lock).await;
                    while term.is_valid() {
                        // An attempt without an answer is no loss; the next one comes after the pause.
                        let _answered = renewal::attempt(term).await.is_ok();
                        pause(&lock).await;
                    }
                    tell(NOBODYS);
                }
                Ok(Acquired::Held(_)) => {
                    tell(ANOTHERS);
                    pause(&lock).await;
                }
                Err(error) => {
                    tell(NOBODYS);
                    match error {
                        Error::Provider(error) if error.kind() != ErrorKind::Fatal => {
                            pause(&lock).await;
                        }
                        _ => return,
                    }
                }
            }
        }
    })
}

async fn pause(lock: &Settings) {
    let Settings { shared, plan, .. } = lock;
    let every = plan.poll_every.min(plan.renew_every);
    shared.clock.pause(every.max(LEAST_PAUSE)).await;
}
