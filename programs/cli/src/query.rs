//! The parts shared by the subcommands that query the store, print the answer and end.

use std::{process::ExitCode, time::Duration};

use dlock_core::{Name, ProviderError};
use dlock_stores::{Location, Store};

use crate::exit::{Exit, Failure};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs such a subcommand.
pub(crate) fn main(
    work: impl Future<Output = Result<ExitCode, Failure>>,
) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::System, "can't start the runtime").because(error))?;
    let code = runtime.block_on(work);
    // A store call that hangs must not delay the exit.
    runtime.shutdown_background();
    code
}

/// Opens an existing store: looking at locks creates no file. `None`: no store was named, and the
/// default one does not exist yet.
pub(crate) async fn open(location: &Location) -> Result<Option<Store>, Failure> {
    if location.exists() {
        Ok(Some(location.open().await?))
    } else if location.is_default() {
        Ok(None)
    } else {
        Err(
            Failure::new(Exit::StoreUnusable, format!("there is no store {location}"))
                .advise("'dlock run' makes it when it is first used; is the path right?"),
        )
    }
}

/// The store's answer to one call, within a time limit.
pub(crate) async fn answer<T>(
    store: &Store,
    doing: &str,
    call: impl Future<Output = Result<T, ProviderError>>,
) -> Result<T, Failure> {
    answer_within(PATIENCE, store, doing, call).await
}

/// The same for a call that may take longer.
pub(crate) async fn answer_within<T>(
    limit: Duration,
    store: &Store,
    doing: &str,
    call: impl Future<Output = Result<T, ProviderError>>,
) -> Result<T, Failure> {
    let answer = tokio::time::timeout(limit, call).await.unwrap_or_else(|_| {
        Err(ProviderError::unknown(format!(
            "no answer within {limit:?}"
        )))
    });
    match answer {
        Ok(answer) => Ok(answer),
        Err(error) => Err(store.failure(doing, error).await.into()),
    }
}

/// The store has no record of this name.
pub(crate) fn no_lock(name: &Name) -> Failure {
    Failure::new(
        Exit::Nothing,
        format!(
            "there is no lock {:?}: it was never held, or its record was purged",
            name.as_str()
        ),
    )
}
