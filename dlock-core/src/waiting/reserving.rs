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
    time::Duration,
};

use tokio::{sync::Notify, task::JoinHandle};
use uuid::Uuid;

use super::{Acquired, Contender, Wait, acquire, pausing::LEAST_PAUSE};
use crate::{Clock, Error, ErrorKind, Holder, Record, clock::Look, lock::Settings, renewal};

/// What a contender has seen of those who had the lock while it waited.
#[derive(Default)]
pub(super) struct PassedOver {
    /// The first few of them, by their labels, and the term of each when it was first seen.
    owners: Vec<(String, Seen)>,
    /// The newest term, and since when none has lasted for long.
    newest: Option<Seen>,
    brisk: Option<Look>,
}

/// A term, and when it was first seen.
#[derive(Clone, Copy)]
struct Seen {
    term: Uuid,
    at: Look,
}

/// The most holders that are told apart.
const OWNERS_KEPT: usize = 8;

/// A reservation that is being made, or kept, by a task of its own. Dropping it gives it back.
pub(super) struct Reservation {
    task: JoinHandle<()>,
    told: Arc<Told>,
}

/// What the task of a reservation and its contender tell each other.
#[derive(Default)]
struct Told {
    /// Whose reservation it was when the task last heard of it.
    whose: AtomicU8,
    /// The contender has seen another term.
    again: Notify,
}

const NOBODYS: u8 = 0;
const OURS: u8 = 1;
const ANOTHERS: u8 = 2;

impl Contender {
    /// Makes a reservation, if this contender is passed over. A lock that one holder keeps for long needs
    /// none, nor do few clients that take turns.
    pub(super) fn reserve_if_passed_over(&mut self, holder: &Holder) {
        let Settings { shared, plan, .. } = &*self.lock;
        if holder.ours || !plan.reservations {
            return;
        }
        let before = self.passed_over.newest.map(|newest| newest.term);
        let passed_over = self
            .passed_over
            .by(&holder.record, plan.poll_every, &shared.clock);
        match &self.reservation {
            Some(reservation) if before != Some(holder.record.uuid) => {
                reservation.told.again.notify_one();
            }
            None if passed_over && !planted!(NeverReserves) => {
                self.reservation = Reservation::begin(&self.lock);
            }
            _ => {}
        }
    }
}

impl PassedOver {
    /// Whether this holder's term follows another one of the same holder, which was seen at least a poll
    /// ago; or for a poll the lock has gone from hand to hand. Labels may differ from term to term.
    fn by(&mut self, Record { owner, uuid, .. }: &Record, poll: Duration, clock: &Clock) -> bool {
        let now = Seen {
            term: *uuid,
            at: clock.look(),
        };
        let newest = *self.newest.get_or_insert(now);
        let brisk = *self.brisk.get_or_insert(now.at);
        let lasted = clock.elapsed(newest.at) > 2 * poll;
        if lasted {
            self.brisk = Some(now.at);
        }
        if newest.term != now.term {
            self.newest = Some(now);
            if !lasted && clock.elapsed(brisk) >= poll {
                return true;
            }
        }
        if let Some((_, first)) = self.owners.iter().find(|(label, _)| label == owner) {
            return first.term != now.term && clock.elapsed(first.at) >= poll;
        }
        if self.owners.len() < OWNERS_KEPT {
            self.owners.push((owner.clone(), now));
        }
        false
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
        let told = Arc::<Told>::default();
        let task = keep(settings, Arc::clone(&told));
        let task = tokio::spawn(async move {
            task.await;
            drop(errand);
        });
        Some(Self { task, told })
    }

    /// This contender has it: the lock is left to it, and it asks more often than others.
    pub(super) fn is_ours(&self) -> bool {
        self.told.whose.load(Ordering::Relaxed) == OURS
    }

    /// A waiter of another client has it, and goes first.
    pub(super) fn is_anothers(&self) -> bool {
        self.told.whose.load(Ordering::Relaxed) == ANOTHERS
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // What is under way runs to its end elsewhere (G1); a lease is given back (G3).
        self.task.abort();
    }
}

/// Gets the reservation, and renews it. While another waiter has it, asks again when the contender has been
/// passed over again. Ends if asking again cannot help. Boxed, since the call that waits for a lock comes to
/// this one.
fn keep(lock: Arc<Settings>, told: Arc<Told>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let tell = |now| told.whose.store(now, Ordering::Relaxed);
        let Settings { shared, plan, .. } = &*lock;
        let pause = || shared.clock.pause(plan.poll_every.max(LEAST_PAUSE));
        loop {
            match acquire(&lock, Wait::No, None).await {
                Ok(Acquired::Holding(holding)) => {
                    tell(OURS);
                    let term = holding.term();
                    while term.is_valid() {
                        shared.clock.pause(plan.renew_every).await;
                        // An attempt without an answer is no loss; the next one comes after the pause.
                        let _answered = renewal::attempt(term).await.is_ok();
                    }
                    tell(NOBODYS);
                }
                Ok(Acquired::Held(_)) => {
                    tell(ANOTHERS);
                    pause().await;
                    // The holder leaves the lock for that one as well.
                    told.again.notified().await;
                }
                Err(Error::Provider(error)) if error.kind() != ErrorKind::Fatal => {
                    tell(NOBODYS);
                    pause().await;
                }
                Err(_) => return tell(NOBODYS),
            }
        }
    })
}
