//! The answers of a handler without an output.

use std::{error::Error, fmt, time::Duration};

/// Why a handler did not complete its task, and the next step for the task. `?` turns any error into one: the task is
/// retried after the usual time.
#[derive(Debug)]
#[non_exhaustive]
pub enum Stop {
    /// The attempt failed. The next one comes after `after`, or after the usual time: two seconds, doubled with each
    /// attempt, up to an hour.
    Retry {
        /// Why.
        error: Box<dyn Error + Send + Sync>,
        /// The time until the next attempt.
        after: Option<Duration>,
    },
    /// The task cannot succeed: it is dead, however many attempts remain.
    Discard {
        /// Why.
        error: Box<dyn Error + Send + Sync>,
    },
    /// It is too early: the task is due again after this time, and the attempt does not count.
    Snooze(Duration),
}

impl Stop {
    /// The attempt failed; the next one comes after this time.
    #[must_use]
    pub fn retry_in(after: Duration, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Retry {
            error: error.into(),
            after: Some(after),
        }
    }

    /// It cannot succeed.
    #[must_use]
    pub fn discard(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Discard {
            error: error.into(),
        }
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Retry {
            error: error.into(),
            after: None,
        }
    }
}

/// JSON that does not fit its type.
#[derive(Debug, thiserror::Error)]
#[error("the {what} is not what its type says")]
pub struct BadJson {
    what: &'static str,
    source: serde_json::Error,
}

impl BadJson {
    pub(crate) fn payload(source: serde_json::Error) -> Self {
        Self {
            what: "payload of the task",
            source,
        }
    }

    pub(crate) fn checkpoint(source: serde_json::Error) -> Self {
        Self {
            what: "checkpoint of the task",
            source,
        }
    }

    pub(crate) fn output(source: serde_json::Error) -> Self {
        Self {
            what: "output of the handler",
            source,
        }
    }
}

/// An error and all its sources, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        // Some errors repeat their source in their own text.
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        source = error.source();
    }
    text
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retry { error, .. } | Self::Discard { error } => {
                f.write_str(&chain(error.as_ref()))
            }
            Self::Snooze(delay) => write!(f, "snoozed for {delay:?}"),
        }
    }
}
