//! `dlock give-back`: releases the lease of a ticket.

use std::process::ExitCode;

use dlock_core::provider::{Release, ReleaseOutcome};

use super::{Answer, Ticket, over, repeat};
use crate::{
    arguments::GiveBackArguments,
    exit::{Exit, Failure},
    output, query,
};

/// Runs `dlock give-back`.
pub(crate) fn main(arguments: &GiveBackArguments) -> Result<ExitCode, Failure> {
    query::main(run(arguments))
}

async fn run(arguments: &GiveBackArguments) -> Result<ExitCode, Failure> {
    let GiveBackArguments { ticket, store } = arguments;
    let ticket = Ticket::of_user(ticket.as_deref())?;
    let location = store.location()?;
    let Some(store) = query::open(&location).await? else {
        return Err(over(&ticket, None));
    };
    let name = ticket.name.as_str();
    let request = Release::new(ticket.name.clone(), ticket.uuid, Some(ticket.token));
    let doing = format!("it is not known whether {name:?} was given back");
    let releasing = async || store.provider().release(&request).await;
    match repeat(&store, &doing, releasing).await? {
        Answer {
            answer: ReleaseOutcome::Released { .. },
            ..
        } => output::done(format_args!("{name:?} is free"))?,
        Answer {
            answer: ReleaseOutcome::NotHeld(record),
            repeated: false,
        } => return Err(over(&ticket, record.as_ref())),
        // An earlier try may have freed it, and another process taken it at once.
        Answer { repeated: true, .. } => {
            return Err(Failure::new(
                Exit::StoreUnreachable,
                format!(
                    "{name:?} is not held any more, but the store did not answer at once: whether it was lost before is not known"
                ),
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
