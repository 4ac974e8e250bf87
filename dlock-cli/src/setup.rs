//! `dlock setup`: makes what a store needs before there can be locks. Nothing else makes it: a schema
//! or a table that appears where somebody mistyped an address is a surprise.

use std::{io::Write, process::ExitCode};

use dlock_core::Name;

use crate::{
    cli::SetupArguments,
    exit::{Exit, Failure},
};

/// Runs `dlock setup`.
pub(crate) fn main(arguments: &SetupArguments) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::System, "can't start the runtime").because(error))?;
    let code = runtime.block_on(run(arguments));
    runtime.shutdown_background();
    code
}

async fn run(arguments: &SetupArguments) -> Result<ExitCode, Failure> {
    let SetupArguments { store } = arguments;
    let store = store.location()?.open().await?;
    store.set_up().await?;
    // Any name: a store that needs nothing made can still be out of reach, or refuse us.
    let answer = store.provider.read(&Name::new("setup")?).await;
    if let Err(error) = answer {
        return Err(store.failure("can't read from it", error).await);
    }
    // Whoever reads may have enough before the end.
    drop(writeln!(std::io::stdout(), "ready: {store}"));
    Ok(ExitCode::SUCCESS)
}
