//! A `dlock run` inside the command of another one, for the same lock: it would wait for itself.

use std::env;

use dlock_core::{DLock, FencingToken, Name};

use crate::{
    display::Condition,
    exit::{Exit, Failure},
};

/// Names the locks that the commands around this one hold, the outermost first: a line for each grant, with
/// its token and its lock's name.
const AROUND: &str = "DLOCK_AROUND";

/// Whether a command around this one holds this lock: [`AROUND`] says so, and the store confirms that it is
/// still that very grant. An environment that was inherited from a run which has ended, or that refers to
/// another store, names tokens that the record does not have.
pub(crate) async fn refuse(lock: &DLock) -> Result<(), Failure> {
    let name = lock.name().as_str();
    let tokens = around(name);
    if tokens.is_empty() {
        return Ok(());
    }
    // No answer: then the try that follows gets none either, and reports it.
    let Ok(Some(record)) = lock.read().await else {
        return Ok(());
    };
    let token = record.token;
    if !tokens.contains(&token) || Condition::of(&record) != Condition::Held {
        return Ok(());
    }
    Err(Failure::new(
        Exit::NotAcquired,
        format!(
            "the lock {name:?} is held by a 'dlock' around this command, token {token}: waiting for it would never end"
        ),
    )
    .advise(
        "run the command without a second 'dlock run', or under another name; if the one around it does not wait for it, unset DLOCK_AROUND",
    ))
}

/// The variable that the command of these grants finds in its environment, with the grants that are already
/// in it.
pub(crate) fn variable<'a>(
    grants: impl IntoIterator<Item = (&'a Name, FencingToken)>,
) -> (&'static str, String) {
    let around = env::var(AROUND).unwrap_or_default();
    (AROUND, around + &lines(grants))
}

/// A line for each grant: its token and its lock's name.
pub(super) fn lines<'a>(grants: impl IntoIterator<Item = (&'a Name, FencingToken)>) -> String {
    let grants = grants.into_iter();
    let lines = grants.map(|(name, token)| format!("{token} {}\n", in_a_line(name.as_str())));
    lines.collect()
}

/// The tokens of the grants of this lock that this process runs under.
fn around(name: &str) -> Vec<FencingToken> {
    let name = in_a_line(name);
    let around = env::var(AROUND).unwrap_or_default();
    let grants = around.lines().filter_map(|line| line.split_once(' '));
    let of_this = grants.filter(|(_, of)| *of == name);
    of_this
        .filter_map(|(token, _)| FencingToken::new(token.parse().ok()?))
        .collect()
}

fn in_a_line(name: &str) -> String {
    name.replace('%', "%25")
        .replace('\n', "%0A")
        .replace('\r', "%0D")
}
