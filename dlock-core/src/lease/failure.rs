//! Every error of the frontend. Contention is a value, not an error.

use std::{error::Error as StdError, fmt, time::Duration};

use crate::{End, ErrorKind, Holder, Name, ProviderError};

/// The reason why a call of the frontend failed. The text says all that is known, including the store's own words;
/// its source is the error that the store's driver reported.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The time limit passed before the lock was free. Nothing is held.
    Timeout {
        /// How long this call waited, queueing and store calls included.
        waited: Duration,
        /// The holder of the lock when the store last answered; `None` if it never did.
        holder: Option<Box<Holder>>,
        /// The last error of the store, if it never answered, or not in the last sixth of a lease before the end.
        /// Part of the message, so it is not repeated as a source; its own source is.
        source: Option<ProviderError>,
    },
    /// The lease was lost. The work is no longer protected.
    Lost(End),
    /// The store gave no answer. An acquire that ends this way holds nothing: what it may have left in the store is
    /// released in the background.
    Provider(ProviderError),
    /// The ticket is for another lock. Nothing was sent.
    TicketMismatch {
        /// The name that the ticket is for.
        ticket: Name,
        /// The name of the lock that it was presented to.
        lock: Name,
    },
    /// The [`Client`](crate::Client) was closed.
    Closed,
}

impl Error {
    /// The last error of the store, if it did not answer at the end: of [`Error::Provider`], and of an
    /// [`Error::Timeout`] that a silent store has caused. If the time limit cut an attempt short, this is the error
    /// of the attempt before it. A timeout without it means that another client has the lock, which is no fault of
    /// the store.
    #[must_use]
    pub const fn store_error(&self) -> Option<&ProviderError> {
        match self {
            Self::Provider(error) => Some(error),
            Self::Timeout { source, .. } => source.as_ref(),
            Self::Lost(_) | Self::TicketMismatch { .. } | Self::Closed => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout {
                waited,
                holder,
                source,
            } => {
                write!(f, "the lock was not acquired within {waited:?}")?;
                if let Some(holder) = holder {
                    write!(f, ": {holder}")?;
                }
                match source {
                    Some(error) => write!(f, "; {}: {error}", no_answer(error)),
                    None => Ok(()),
                }
            }
            Self::Lost(loss) => loss.fmt(f),
            Self::Provider(error) => write!(f, "{}: {error}", no_answer(error)),
            Self::TicketMismatch { ticket, lock } => {
                write!(f, "a ticket for {ticket:?} does not open {lock:?}")
            }
            Self::Closed => f.write_str("the lock's client is closed"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Lost(loss) => loss.source(),
            _ => self.store_error().and_then(StdError::source),
        }
    }
}

impl From<End> for Error {
    fn from(loss: End) -> Self {
        Self::Lost(loss)
    }
}

impl From<ProviderError> for Error {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

fn no_answer(error: &ProviderError) -> &'static str {
    match error.kind() {
        ErrorKind::NotApplied => "the lock's store could not be reached, or refuses for now",
        ErrorKind::Unknown => "the lock's store did not answer",
        ErrorKind::Fatal => "the lock's store cannot be used",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EndCause, FencingToken, Record};

    #[test]
    fn error_chain_says_everything_once() {
        let driver = || std::io::Error::other("os error 111");
        let reset = || ProviderError::unknown("connection reset").with_source(driver());
        let lost = End {
            token: FencingToken::MAX,
            cause: EndCause::Expired {
                last_error: Some(reset()),
            },
            work_finished: false,
        };
        let late = Error::Timeout {
            waited: Duration::from_secs(3),
            holder: None,
            source: Some(reset()),
        };
        let token = FencingToken::MAX;
        let silent = "the lock's store did not answer: connection reset";
        for (error, first) in [
            (
                Error::from(lost),
                format!(
                    "the lease with token {token} ran out because its renewals failed: connection reset"
                ),
            ),
            (Error::from(reset()), silent.to_owned()),
            (
                late,
                format!("the lock was not acquired within 3s; {silent}"),
            ),
        ] {
            let chain =
                std::iter::successors(Some(&error as &dyn StdError), |&error| error.source());
            let chain: Vec<String> = chain.map(ToString::to_string).collect();
            assert_eq!(chain, [first, "os error 111".to_owned()]);
        }
    }

    #[test]
    fn timeout_says_who_held_the_lock_and_whether_that_is_us() {
        let timeout = |holder: Option<Holder>| {
            let waited = Duration::from_secs(3);
            Error::Timeout {
                waited,
                holder: holder.map(Box::new),
                source: None,
            }
            .to_string()
        };
        let record = Record::new(
            uuid::Uuid::from_u128(1),
            "worker-7",
            std::time::UNIX_EPOCH,
            FencingToken::MAX,
            Duration::from_secs(15),
        );
        let held = |ours| {
            let record = record.clone();
            timeout(Some(Holder {
                record,
                ours,
                observed: Duration::ZERO,
                kept: false,
            }))
        };
        let nobody = "the lock was not acquired within 3s";
        assert_eq!(timeout(None), nobody);
        let token = FencingToken::MAX;
        let other = format!("{nobody}: held by \"worker-7\" with token {token}");
        assert_eq!(held(false), other);
        assert!(held(true).contains("not re-entrant"), "{}", held(true));
    }
}
