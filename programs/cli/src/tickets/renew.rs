//! `dlock renew`: extends the lease of a ticket.

use std::{process::ExitCode, time::Duration};

use dlock_core::{
    Clock, ProviderError, Record,
    provider::{Renew, RenewOutcome},
};
use dlock_stores::Store;
use serde_json::json;

use super::{Ticket, over, repeat};
use crate::{arguments::RenewArguments, display::span, exit::Failure, output, query};

/// Runs `dlock renew`.
pub(crate) fn main(arguments: &RenewArguments) -> Result<ExitCode, Failure> {
    query::main(run(arguments))
}

async fn run(arguments: &RenewArguments) -> Result<ExitCode, Failure> {
    let RenewArguments {
        ticket,
        json,
        store,
    } = arguments;
    let ticket = Ticket::of_user(ticket.as_deref())?;
    let location = store.location()?;
    let Some(store) = query::open(&location).await? else {
        return Err(over(&ticket, None));
    };
    let name = ticket.name.as_str();
    let clock = Clock::system();
    let doing = format!("it is not known whether the lease on {name:?} was renewed");
    let renewing = async || renew(&store, &ticket, &clock).await;
    let (valid_until, asked) = match repeat(&store, &doing, renewing).await?.answer {
        Renewal::Renewed { valid_until, asked } => (valid_until, asked),
        Renewal::Over(record) => return Err(over(&ticket, record.as_ref())),
    };
    let left = valid_until.saturating_sub(clock.reading());
    if *json {
        let milliseconds = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let token = ticket.token.get();
        let line = json!({"name": name, "token": token, "valid_ms": milliseconds, "asked": asked});
        output::line(format_args!("{line}"))?;
    } else {
        let asked = if asked { "; it was asked for" } else { "" };
        output::done(format_args!("{name:?} is yours for {}{asked}", span(left)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The outcome of the renewal.
enum Renewal {
    Renewed {
        /// By the clock that was passed with the call.
        valid_until: Duration,
        asked: bool,
    },
    Over(Option<Record>),
}

/// One more than the newest renewal that the store knows. Should another process renew at the same time, one of
/// the two numbers is the other's (R2), and that renewal was applied after the reading: so the lease counts from
/// the instant before it.
async fn renew(store: &Store, ticket: &Ticket, clock: &Clock) -> Result<Renewal, ProviderError> {
    let provider = store.provider();
    let sent = clock.reading();
    let record = match provider.read(&ticket.name).await? {
        // Not by the uuid: a server shows a different one for a term that this process has not yet named.
        Some(record) if record.token == ticket.token && !record.released => record,
        other => return Ok(Renewal::Over(other)),
    };
    let request = Renew::new(ticket.name.clone(), ticket.uuid, record.renewals + 1);
    let asked = match provider.renew(&request).await? {
        RenewOutcome::Renewed { asked } => asked,
        RenewOutcome::Lost(record) => return Ok(Renewal::Over(record)),
    };
    // Less a fifth, the margin that all leases have: clocks run at different rates.
    let valid_until = sent + record.duration - record.duration / 5;
    if clock.reading() >= valid_until {
        return Err(ProviderError::unknown("the answer came too late"));
    }
    Ok(Renewal::Renewed { valid_until, asked })
}
