//! `dlock doctor`: whether a store is fit for locks. `report` says how the result looks, `checks` what is checked.

mod checks;
mod report;

use std::process::ExitCode;

use dlock_stores::{Encryption, Location, Store};

use self::{
    checks::Patient,
    report::{Finding, Report},
};
use crate::{
    arguments::DoctorArguments,
    exit::{Exit, Failure},
    output, query,
};

/// Runs `dlock doctor`.
pub(crate) fn main(arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    query::main(run(arguments))
}

async fn run(arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    let DoctorArguments { lease, json, store } = arguments;
    let location = store.location_of_locks()?;
    let mut report = Report::new(location.to_string(), *lease);
    let end = examine(&location, arguments, &mut report).await;
    if let Err(failure) = &end
        && failure.exit() == Exit::NotAcquired
    {
        return end.map(|()| ExitCode::SUCCESS);
    }
    output::write(&report.text(*json)?)?;
    match end {
        Err(failure) => Ok(failure.exit().into()),
        Ok(()) if report.is_well() => Ok(ExitCode::SUCCESS),
        Ok(()) => Ok(Exit::StoreUnusable.into()),
    }
}

/// Everything, up to the first finding that makes the rest useless.
async fn examine(
    location: &Location,
    arguments: &DoctorArguments,
    report: &mut Report,
) -> Result<(), Failure> {
    let reached = reach(location).await;
    let (store, tables) = report.note("store", reached, |_| "it is there".to_owned())?;
    report.add(encryption(&store));
    report.note("tables", tables, |()| {
        if store.has_tables() {
            "as this release needs them".to_owned()
        } else {
            "none are needed".to_owned()
        }
    })?;
    let mut patient = Patient::new(&store, arguments.lease)?;
    let examined = patient.examine(report).await;
    patient.close().await;
    examined
}

/// Opens the store, and checks its tables. Most stores are contacted by the first query and not before, so
/// whatever keeps it from being answered is a fault of the store.
async fn reach(location: &Location) -> Result<(Store, Result<(), Failure>), Failure> {
    let store = open(location).await?;
    match store.check().await {
        Err(error) if !error.lacks_tables() => Err(error.into()),
        tables => Ok((store, tables.map_err(Failure::from))),
    }
}

async fn open(location: &Location) -> Result<Store, Failure> {
    match query::open(location).await? {
        Some(store) => Ok(store),
        // The default store, not used so far.
        None => Ok(location.open().await?),
    }
}

fn encryption(store: &Store) -> Finding {
    let check = "encryption";
    match store.encryption() {
        Some(Encryption::Local) => Finding::good(check, "nothing leaves this machine"),
        Some(Encryption::Checked) => {
            Finding::good(check, "TLS, and the server's certificate is checked")
        }
        Some(Encryption::Unchecked(more)) => Finding::good(
            check,
            "others may stand between this machine and the server",
        )
        .advise(more),
        Some(Encryption::None(more)) => Finding::good(
            check,
            "none: anyone on the network path can read everything, passwords too",
        )
        .advise(more),
        _ => Finding::good(check, "neither its location nor the environment shows it"),
    }
}
