//! Where tasks are: the queues that this program can open. Their locations are written as those of locks.

use std::ffi::OsStr;

use super::{KINDS, Queue, not_compiled, scheme};
use crate::exit::{Exit, Failure};

/// Opens a queue from what follows the scheme; both are in the text. Makes its database if told so.
type Open = fn(&OsStr, bool) -> Result<Queue, Failure>;

macro_rules! compiled_with {
    ($feature:literal, $open:path) => {{
        #[cfg(feature = $feature)]
        {
            Some($open)
        }
        #[cfg(not(feature = $feature))]
        {
            None
        }
    }};
}

/// Opens what `--database` says. Unless `make` is set, a file that is not there is an error.
pub(crate) fn open(database: &OsStr, make: bool) -> Result<Queue, Failure> {
    let text = database.to_string_lossy();
    let scheme = scheme(&text);
    let open: Option<Open> = match scheme {
        Some("sqlite") => compiled_with!("sqlite", super::sqlite::queue),
        Some("postgres" | "postgresql") => compiled_with!("postgres", super::postgres::queue),
        _ => {
            return Err(
                Failure::new(Exit::StoreUnusable, "this is no database with tasks").advise(
                    "give one as sqlite:PATH or postgres://USER@HOST/DATABASE: queues are in databases of these kinds",
                ),
            );
        }
    };
    let kind = KINDS
        .iter()
        .find(|kind| scheme.is_some_and(|scheme| kind.schemes.contains(&scheme)));
    match (open, kind) {
        (Some(open), _) => open(database, make),
        (None, Some(kind)) => Err(not_compiled(kind)),
        (None, None) => Err(Failure::new(Exit::StoreUnusable, "there are no queues")),
    }
}
