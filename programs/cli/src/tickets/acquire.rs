//! `dlock acquire`: takes a lock and leaves it to the owner of the ticket.

use std::{ops::ControlFlow, process::ExitCode};

use dlock_core::{DLock, Lease};
use dlock_stores::Store;
use serde_json::json;

use super::Ticket;
use crate::{
    arguments::{self, AcquireArguments},
    ending::{self, Outcome},
    exit::{Exit, Failure},
    output,
    run::waiting::{self, Waited},
    supervise::Signals,
};

/// Runs `dlock acquire`.
pub(crate) fn main(arguments: &AcquireArguments) -> Result<ExitCode, Failure> {
    ending::main(run(arguments)).map_err(|failure| arguments.wait.coded(failure))
}

async fn run(arguments: &AcquireArguments) -> Result<Outcome, Failure> {
    let AcquireArguments {
        name,
        lease,
        owner,
        store,
        ..
    } = arguments;
    // Before the store: a wrong name leaves no trace.
    let name = arguments::name(name)?;
    let location = store.location_of_locks()?;
    let (store, mut signals) = match ending::open(&location).await? {
        ControlFlow::Continue(opened) => opened,
        ControlFlow::Break(outcome) => return Ok(outcome),
    };
    let lock = DLock::builder()
        .name(name.as_str())
        .duration(*lease)
        .provider(store.client())
        .owner_opt(owner.clone())
        .build()?;
    let done = acquire(arguments, &lock, &store, &mut signals).await;
    ending::close(&lock.client(), &mut signals).await;
    done
}

async fn acquire(
    arguments: &AcquireArguments,
    lock: &DLock,
    store: &Store,
    signals: &mut Signals,
) -> Result<Outcome, Failure> {
    let patience = arguments.wait.patience();
    let lease = match waiting::acquire(lock, patience, store, signals).await? {
        Waited::Acquired(lease) => lease,
        Waited::Interrupted(signal) => return Ok(ending::by_signal(signal.as_raw(), false)),
    };
    // A dropped lease is released: that happens if no reader can have got the ticket.
    if !output::write(&line(arguments, lock, &lease))? {
        return Err(Failure::new(
            Exit::Output,
            "the ticket has no reader: the lock is given back",
        ));
    }
    // The core's own ticket takes a new term; this one's line continues the same term. Either way nothing is sent,
    // and the store keeps others out until the lease ends.
    let _unredeemed = lease.hand_over().map_err(|error| {
        Failure::new(
            Exit::LeaseLost,
            "the lease ended while its ticket was printed",
        )
        .because(error)
    })?;
    Ok(Outcome::Code(0))
}

fn line(arguments: &AcquireArguments, lock: &DLock, lease: &Lease) -> String {
    let ticket = Ticket {
        name: lock.name().clone(),
        uuid: lease.uuid(),
        token: lease.token(),
    };
    if !arguments.json {
        return format!("{ticket}\n");
    }
    let milliseconds =
        |span: std::time::Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let line = json!({
        "ticket": ticket.to_string(),
        "name": ticket.name.as_str(),
        "token": ticket.token.get(),
        "owner": lock.owner(),
        "lease_ms": milliseconds(lock.duration()),
        "valid_ms": milliseconds(lease.remaining()),
    });
    format!("{line}\n")
}
