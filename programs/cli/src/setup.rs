//! `dlock setup`: creates what a store needs before there can be locks. Nothing else creates it: a
//! schema or a table that appears because of a mistyped address is a surprise.

use std::process::ExitCode;

use dlock_core::Name;

use crate::{arguments::SetupArguments, exit::Failure, output, query};

/// Runs `dlock setup`.
pub(crate) fn main(arguments: &SetupArguments) -> Result<ExitCode, Failure> {
    query::main(run(arguments))
}

async fn run(arguments: &SetupArguments) -> Result<ExitCode, Failure> {
    let SetupArguments { store } = arguments;
    let store = store.location()?.open().await?;
    store.set_up().await?;
    // Any name: a store that needs no preparation can still be unreachable, or refuse us.
    let name = Name::new("setup")?;
    query::answer(&store, "can't read from it", store.provider().read(&name)).await?;
    output::line(format_args!("ready: {store}"))?;
    Ok(ExitCode::SUCCESS)
}
