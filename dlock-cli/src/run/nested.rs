//! A `dlock run` inside of the command of another one, for the same lock: it would wait for itself.

use std::env;

use dlock_core::{DLock, FencingToken};

use crate::{
    display::Condition,
    exit::{Exit, Failure},
};

/// Whether the command around this one holds this lock: `DLOCK_NAME` and `DLOCK_TOKEN` say so, and the
/// store that it is still that very grant. An environment that was inherited from a run which has ended,
/// or that speaks of another store, names a token that the record does not have.
pub(super) async fn refuse(lock: &DLock) -> Result<(), Failure> {
    let name = lock.name().as_str();
    let Some(token) = outer(name) else {
        return Ok(());
    };
    // No answer: then the try that follows has none either, and says so.
    let Ok(Some(record)) = lock.read().await else {
        return Ok(());
    };
    if record.token != token || Condition::of(&record) != Condition::Held {
        return Ok(());
    }
    Err(Failure::new(
        Exit::NotAcquired,
        format!(
            "the lock {name:?} is held by the 'dlock' around this command, token {token}: waiting for it would never end"
        ),
    )
    .advise(
        "run the command without a second 'dlock run', or under another name; if the one around it does not wait for it, unset DLOCK_TOKEN",
    ))
}

/// The token of the grant that this process runs under, if it is of this lock.
fn outer(name: &str) -> Option<FencingToken> {
    let same = env::var("DLOCK_NAME").is_ok_and(|outer| outer == name);
    let token = env::var("DLOCK_TOKEN").ok().filter(|_| same)?;
    FencingToken::new(token.parse().ok()?)
}
