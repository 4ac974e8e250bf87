//! The renewals of all guards of one client on one runtime: when each is due, which travel together, and what becomes
//! of those that got no answer (the book, "The code": Many leases).
//!
//! One task for each client and runtime, for as long as there is something to renew: a task dies with the runtime
//! that started it, and connections live there. It gets from the [`schedule`] what is due, starts a [`call`] in its
//! own task for each batch, and sleeps. The term keeps its own belief; `renewal` interprets answers.

mod call;
mod load;
mod rate_limit;
mod schedule;
mod send_queue;
#[cfg(test)]
mod tests;
mod timer_queue;

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::runtime::Id;

use self::{
    schedule::{Next, Schedule, Step},
    timer_queue::{Entry, Health},
};
use crate::{
    emit::log,
    lease::{Renewer, Term},
    time::Clock,
};

/// The schedulers of one client, by runtime. Keeps none of them alive: the terms would keep the client alive, and the
/// client the terms.
#[derive(Default)]
pub(crate) struct Schedulers(Mutex<Vec<(Id, Weak<Schedule>)>>);

impl Schedulers {
    /// Renews this term from now on, on its home runtime, until it ends. If that runtime is gone, the lease runs out.
    pub(crate) fn keep(term: &Arc<Term>) {
        let Some(schedulers) = term.store.renewals::<Self>() else {
            return;
        };
        let renewer: Weak<Self> = Arc::downgrade(&schedulers);
        term.renewed_by(renewer);
        let mut entry = Entry {
            term: Arc::clone(term),
            health: Health::Healthy,
        };
        loop {
            let (schedule, new) = schedulers.schedule(term);
            let refused = schedule.join(entry);
            if new {
                let runner = Runner(schedule);
                drop(term.home.spawn(async move { runner.run().await }));
            }
            // A schedule that has just ended accepts no term any more; the next one is new.
            match refused {
                None => return,
                Some(back) => entry = back,
            }
        }
    }

    /// The schedule of the term's runtime, and whether it is new, in which case no task runs it yet.
    fn schedule(&self, term: &Term) -> (Arc<Schedule>, bool) {
        let id = term.home.id();
        let mut schedules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = schedules.iter().find(|(known, _)| *known == id);
        if let Some(schedule) = known
            .and_then(|(_, schedule)| schedule.upgrade())
            .filter(|schedule| !schedule.has_ended())
        {
            return (schedule, false);
        }
        // The number of a runtime that is gone may be used again.
        schedules.retain(|(known, schedule)| *known != id && schedule.strong_count() > 0);
        let schedule = Arc::new(Schedule::new(&term.store));
        schedules.push((id, Arc::downgrade(&schedule)));
        (schedule, true)
    }
}

impl Renewer for Schedulers {
    fn remove(&self, term: &Term) {
        let schedule = {
            let schedules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let id = term.home.id();
            schedules
                .iter()
                .find(|(known, _)| *known == id)
                .and_then(|(_, schedule)| schedule.upgrade())
        };
        if let Some(schedule) = schedule {
            // Dropped here, after all locks: it may be the last of its term.
            let removed = schedule.remove(term);
            // The loss may have come with the answer to a renewal of an earlier lease of the term.
            if removed.is_some() && term.over().is_some_and(|end| end.is_loss()) {
                log_end(term, &term.store.clock);
            }
        }
    }
}

/// The task. Dropping it, with its runtime, ends the schedule.
struct Runner(Arc<Schedule>);

impl Runner {
    async fn run(self) {
        let schedule = &self.0;
        loop {
            let Step { calls, done, next } = schedule.step();
            for call in calls {
                drop(tokio::spawn(call.of(schedule).run()));
            }
            for entry in done {
                log_end(&entry.term, schedule.clock());
            }
            match next {
                Next::Again => tokio::task::yield_now().await,
                Next::Ring => schedule.ring.notified().await,
                Next::Sleep(until, step) => tokio::select! {
                    biased;
                    () = schedule.ring.notified() => {}
                    () = schedule.clock().sleep_until(until, step) => {}
                },
                Next::End => return,
            }
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        drop(self.0.end());
    }
}

/// Logs why a term is no longer renewed.
fn log_end(term: &Term, clock: &Clock) {
    let (lock, backend, token) = (&term.name, term.store.backend, term.token.get());
    match term.over() {
        Some(end) if !end.is_loss() => {
            log!(trace, name: "renewals_ended", %lock, backend, token, cause = %end.cause, "renewals ended");
        }
        Some(loss) => {
            log!(warn, name: "lost", %lock, backend, token, cause = %loss.cause, "the lease was lost");
        }
        None if term.renewals_end().is_some_and(|end| clock.now() >= end) => {
            term.held_too_long();
            log!(warn, name: "held_too_long", %lock, backend, token, "held for the longest time allowed; renewals stop");
        }
        None => {}
    }
}
