//! Where tasks are: the queues that this program can open. Their locations are written as those of locks.

use std::{ffi::OsStr, fmt, sync::Arc};

use dlock_core::ProviderError;
use dlock_tasks::TaskStore;

use super::{KINDS, diagnosis::Diagnosis, not_compiled, scheme};
use crate::exit::{Exit, Failure};

/// An open queue. A server is not asked anything yet.
pub(crate) struct Queue {
    pub(crate) store: Arc<dyn TaskStore>,
    pub(super) diagnosis: Diagnosis,
}

/// How to have the tables of a queue made.
#[cfg_attr(
    not(any(feature = "sqlite", feature = "postgres")),
    expect(dead_code, reason = "other stores have no queues")
)]
pub(super) const SET_UP: &str = "make it once: 'dlock tasks setup', with the same --database";

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

impl Queue {
    /// Opens what `--database` says. Unless `make` is set, a file that is not there is an error.
    pub(crate) fn open(database: &OsStr, make: bool) -> Result<Self, Failure> {
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

    /// Makes the tables; nothing if they are there.
    pub(crate) async fn set_up(&self) -> Result<(), Failure> {
        self.diagnosis.set_up().await
    }

    /// The queue has no answer: why, and what to do.
    pub(crate) async fn failure(&self, doing: &str, error: ProviderError) -> Failure {
        self.diagnosis.failure(doing, error).await
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnosis.fmt(f)
    }
}
