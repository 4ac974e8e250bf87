//! An acquire on the caller's side: drives the contender, and takes its result.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::{
    Acquired, Contender, Settings, Wait,
    call::AcquireCall,
    queue_entry::QueueEntry,
    rendezvous::{Received, rendezvous},
};
use crate::{
    Error, ProviderError, Ticket,
    emit::{self, log},
    names::Queue,
    store::driven::Driven,
    time::ContenderInstant,
};

/// Acquires, with a ticket or without, and notifies observers. A ticket of another lock is refused.
pub(crate) async fn acquire(
    lock: &Arc<Settings>,
    wait: Wait,
    ticket: Option<&Ticket>,
) -> Result<Acquired, Error> {
    if let Some(ticket) = ticket
        && *ticket.name() != lock.name
    {
        return Err(Error::TicketMismatch {
            ticket: ticket.name().clone(),
            lock: lock.name.clone(),
        });
    }
    let call = AcquireCall::begin(lock, wait);
    let answer = contend_for(lock, wait, ticket, call.since).await;
    call.end(&answer);
    answer
}

/// Contends in the caller's poll at first, and in a task of ours if it takes longer: a request that was sent runs to
/// its answer when the caller goes away, and waiting does not depend on the caller's polls.
async fn contend_for(
    lock: &Arc<Settings>,
    wait: Wait,
    mut ticket: Option<&Ticket>,
    started: ContenderInstant,
) -> Result<Acquired, Error> {
    loop {
        if lock.store.is_closed() {
            return Err(Error::Closed);
        }
        let span = emit::span(|| {
            tracing::debug_span!(
                "acquire",
                lock = %lock.name,
                backend = lock.store.backend,
                token = tracing::field::Empty
            )
        });
        let (sender, mut receiver) = rendezvous();
        let entry = QueueEntry::default();
        // Dropped with this future.
        let _caller = entry.caller();
        let queues = match wait {
            Wait::No => false,
            // No waiter in line can have the lock before the redeemer of its ticket.
            Wait::Limit(_) => ticket.is_none(),
        };
        let queue = if queues {
            entry.enqueue(lock).await
        } else {
            Queue::new(Handle::current().id())
        };
        // Taken once: if its grant comes to nothing, the ticket is used up.
        let ticket = ticket.take();
        let mut contender = Contender::new(lock, wait, ticket, started, entry.gone(), queue);
        let tracked = lock.store.track(&lock.plan);
        let work = Box::pin(emit::within(span, async move {
            contender.run(sender, entry, queues).await;
            drop((contender, tracked));
        }));
        let driven = Driven::new(&lock.store.watchdogs, work);
        match driven.until(receiver.recv()).await {
            // It was valid when it was granted, but has waited too long since. Dropping it releases it.
            Received::Value(Ok(Acquired::Holding(holding))) if !holding.term().is_valid() => {
                log!(debug, name: "grant_outdated", "the grant had run out before it was picked up; trying again");
            }
            Received::Value(answer) => {
                if let Ok(Acquired::Holding(holding)) = &answer {
                    holding.term().picked_up();
                }
                return answer;
            }
            // The caller was away for too long; now that it is back, it queues again.
            Received::TakenBack => {}
            Received::CallerGone => {
                return Err(ProviderError::unknown("the acquire was cut off").into());
            }
        }
    }
}
