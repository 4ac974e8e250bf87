//! A lock that is kept by a line of text: `dlock acquire`, `dlock renew` and `dlock give-back`, for scripts that hold
//! it from one command to the next.
//!
//! Such a lease is renewed only by `dlock renew`, with its ticket.

#[cfg(unix)]
pub(crate) mod acquire;
pub(crate) mod give_back;
pub(crate) mod renew;
mod ticket;

use std::time::Duration;

use dlock_core::{Clock, ErrorKind, ProviderError, Record};
use dlock_stores::Store;

use self::ticket::Ticket;
use crate::{
    display,
    exit::{Exit, Failure},
};

/// How long the calls to the store are repeated.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one try may take.
const TRY: Duration = Duration::from_secs(3);
/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(250);

/// The answer, and whether an earlier try of this process may have been applied too.
struct Answer<T> {
    answer: T,
    repeated: bool,
}

/// Repeats the call until there is an answer: these calls may be sent twice (R2, L2).
async fn repeat<T>(
    store: &Store,
    doing: &str,
    mut ask: impl AsyncFnMut() -> Result<T, ProviderError>,
) -> Result<Answer<T>, Failure> {
    let clock = Clock::system();
    let began = clock.reading();
    let mut repeated = false;
    loop {
        let late = || ProviderError::unknown(format!("no answer within {TRY:?}"));
        let error = match tokio::time::timeout(TRY, ask()).await {
            Ok(Ok(answer)) => return Ok(Answer { answer, repeated }),
            Ok(Err(error)) => error,
            Err(_) => late(),
        };
        repeated |= error.kind() != ErrorKind::NotApplied;
        let spent = clock.reading().saturating_sub(began);
        if error.kind() == ErrorKind::Fatal || spent + PAUSE + TRY > PATIENCE {
            return Err(store.failure(doing, error).await.into());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The lease of this ticket has ended.
fn over(ticket: &Ticket, record: Option<&Record>) -> Failure {
    let name = ticket.name.as_str();
    let now = match record {
        None => format!("there is no lock {name:?}"),
        Some(record) if record.held_by(ticket.uuid) => {
            format!("it ran out: {}", display::condition(&ticket.name, record))
        }
        Some(record) if record.token == ticket.token && !record.released => {
            format!("it was taken away from {name:?}: revoked, or released by force")
        }
        Some(record) => display::condition(&ticket.name, record),
    };
    Failure::new(
        Exit::LeaseLost,
        format!("the lease with token {} has ended: {now}", ticket.token),
    )
}
