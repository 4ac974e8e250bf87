//! The renewals of all guards of one client on one runtime (V6): when each is due, which travel
//! together, and what becomes of those that got no answer (I17).
//!
//! One task for each client and runtime, for as long as there is something to renew: a task dies with
//! the runtime that started it, and connections live there. It asks the [`agenda`] what is due,
//! starts a [`call`] in a task of its own for each batch, and sleeps. What a term believes is the
//! term's; what an answer means is `renewal`'s.

mod agenda;
mod call;
mod crowd;
mod lane;
mod pace;
mod queue;

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::runtime::Id;

use self::{
    agenda::{Agenda, Then, Turn},
    queue::{Kept, Standing},
};
use crate::{
    LossCause,
    emit::emit,
    lease::{Keeper, Term},
    time::Clock,
};

/// The schedulers of one client, by runtime. Keeps none of them alive: the terms would keep the
/// client alive, and the client them.
#[derive(Default)]
pub(crate) struct Schedulers(Mutex<Vec<(Id, Weak<Agenda>)>>);

impl Schedulers {
    /// Renews this term from now on, on its home runtime, until it ends or leaves. If that runtime is
    /// gone, nobody does, and the lease runs out.
    pub(crate) fn keep(term: &Arc<Term>) {
        let Some(schedulers) = term.store.renewals::<Self>() else {
            return;
        };
        let keeper: Weak<Self> = Arc::downgrade(&schedulers);
        term.is_kept_by(keeper);
        let mut kept = Kept {
            term: Arc::clone(term),
            standing: Standing::Fresh,
        };
        loop {
            let (agenda, new) = schedulers.agenda(term);
            let refused = agenda.join(kept);
            if new {
                let runner = Runner(agenda);
                drop(term.home.spawn(async move { runner.run().await }));
            }
            // One that has just ended takes nobody any more; the next is a new one.
            match refused {
                None => return,
                Some(back) => kept = back,
            }
        }
    }

    /// The agenda of the term's runtime, and whether it is a new one that nobody runs yet.
    fn agenda(&self, term: &Term) -> (Arc<Agenda>, bool) {
        let id = term.home.id();
        let mut agendas = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = agendas.iter().find(|(known, _)| *known == id);
        if let Some(agenda) = known
            .and_then(|(_, agenda)| agenda.upgrade())
            .filter(|agenda| !agenda.has_ended())
        {
            return (agenda, false);
        }
        // The number of a runtime that is gone may come again.
        agendas.retain(|(known, agenda)| *known != id && agenda.strong_count() > 0);
        let agenda = Arc::new(Agenda::new(&term.store));
        agendas.push((id, Arc::downgrade(&agenda)));
        (agenda, true)
    }
}

impl Keeper for Schedulers {
    fn leave(&self, term: &Term) {
        let agenda = {
            let agendas = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let id = term.home.id();
            agendas
                .iter()
                .find(|(known, _)| *known == id)
                .and_then(|(_, agenda)| agenda.upgrade())
        };
        if let Some(agenda) = agenda {
            // Dropped here, after all locks: it may be the last of its term.
            drop(agenda.leave(term));
        }
    }
}

/// The task. Dropping it, with its runtime, ends the agenda.
struct Runner(Arc<Agenda>);

impl Runner {
    async fn run(self) {
        let agenda = &self.0;
        loop {
            let Turn { calls, over, then } = agenda.turn();
            for call in calls {
                drop(tokio::spawn(call.of(agenda).run()));
            }
            for kept in over {
                farewell(&kept.term, agenda.clock());
            }
            match then {
                Then::Again => tokio::task::yield_now().await,
                Then::Ring => agenda.ring.notified().await,
                Then::Sleep(until, step) => tokio::select! {
                    biased;
                    () = agenda.ring.notified() => {}
                    () = agenda.clock().sleep_until(until, step) => {}
                },
                Then::End => return,
            }
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        drop(self.0.end());
    }
}

/// A term is renewed no more: says why.
fn farewell(term: &Term, clock: &Clock) {
    let (lock, backend, token) = (&term.name, term.store.backend, term.token.get());
    match term.loss() {
        Some(loss) if matches!(loss.cause, LossCause::Released | LossCause::HandedOver) => {
            emit(
                || tracing::trace!(name: "renewals_ended", %lock, backend, token, cause = %loss.cause, "renewals ended"),
            );
        }
        Some(loss) => {
            emit(
                || tracing::warn!(name: "lost", %lock, backend, token, cause = %loss.cause, "the lease was lost"),
            );
        }
        None if term.renewals_end().is_some_and(|end| clock.now() >= end) => {
            term.held_too_long();
            emit(
                || tracing::warn!(name: "held_too_long", %lock, backend, token, "held for the longest time allowed; renewals stop"),
            );
        }
        None => {}
    }
}
