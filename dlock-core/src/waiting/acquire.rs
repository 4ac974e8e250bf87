//! The call for a lock, on the caller's side: it starts a contender, and takes what that brings.

use std::sync::Arc;

use super::{
    Acquired, Contender, Settings, Wait,
    call::AcquireCall,
    handoff::{Taken, handoff},
    line::Line,
};
use crate::{
    Error, ProviderError, Ticket,
    emit::{self, emit},
};

/// Acquires, with a ticket or without, and tells those who watch. A ticket of another lock is refused (H11).
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
    let answer = ask_for(lock, wait, ticket).await;
    call.end(&answer);
    answer
}

/// Acquires in a task of ours, so that what was sent runs to its answer when the caller goes away
/// (G1), and waiting does not depend on the caller's polls (W6).
async fn ask_for(
    lock: &Arc<Settings>,
    wait: Wait,
    mut ticket: Option<&Ticket>,
) -> Result<Acquired, Error> {
    let started = lock.store.clock.contender_now();
    loop {
        if lock.store.is_closed() {
            return Err(Error::Closed);
        }
        let (giver, mut taker) = handoff();
        let line = Line::default();
        // Dropped with this future.
        let _caller = line.caller();
        let queues = match wait {
            Wait::No => false,
            // Nobody in line can have the lock before whoever has its ticket.
            Wait::Limit(_) => ticket.is_none(),
        };
        if queues {
            line.join(lock).await;
        }
        // Once: if its grant comes to nothing, it is used up.
        let ticket = ticket.take();
        let contender = Contender::new(lock, wait, ticket, started, line.gone());
        let span = emit::span(|| {
            tracing::debug_span!(
                "acquire",
                lock = %lock.name,
                backend = lock.store.backend,
                token = tracing::field::Empty
            )
        });
        let tracked = lock.store.track(&lock.plan);
        tokio::spawn(emit::within(span, async move {
            contender.run(giver, line, queues).await;
            drop(tracked);
        }));
        match taker.take().await {
            // It was valid when it was granted, and waited for us too long since (V9). Dropped, it
            // is released.
            Taken::Value(Ok(Acquired::Holding(holding))) if !holding.term().is_valid() => {
                emit(
                    || tracing::debug!(name: "grant_outdated", "the grant had run out before it was picked up; asking anew"),
                );
            }
            Taken::Value(answer) => {
                if let Ok(Acquired::Holding(holding)) = &answer {
                    holding.term().handed_out();
                }
                return answer;
            }
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
