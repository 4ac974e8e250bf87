//! Every error of the core. Contention is a value, and "we do not know" is a kind of its own.

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use crate::{FencingToken, Holder, Name, Record};

/// What is known about a call that got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the protocol knows these three; each has its own duty"
)]
pub enum ErrorKind {
    /// Certainly nothing happened: connection refused, throttled. Only wording and background
    /// clean-up depend on this being right.
    NotApplied,
    /// Perhaps applied: timed out, or the connection broke after sending. When in doubt, this.
    Unknown,
    /// A retry cannot help: wrong credentials, missing table, a record that cannot be read.
    Fatal,
}

/// A provider's call got no answer. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ProviderError {
    kind: ErrorKind,
    message: Arc<str>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl ProviderError {
    /// [`ErrorKind::NotApplied`]: certainly nothing happened.
    #[must_use]
    pub fn not_applied(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::NotApplied, message)
    }

    /// [`ErrorKind::Unknown`]: perhaps applied.
    #[must_use]
    pub fn unknown(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::Unknown, message)
    }

    /// [`ErrorKind::Fatal`]: a retry cannot help.
    #[must_use]
    pub fn fatal(message: impl AsRef<str>) -> Self {
        Self::new(ErrorKind::Fatal, message)
    }

    /// An error of this kind. `message`: lower case, no full stop, no credentials, without the
    /// text of its source; for `Fatal` it says what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self {
            kind,
            message: message.as_ref().into(),
            source: None,
        }
    }

    /// Adds what the driver reported.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// What is known.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for ProviderError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_ref()
            .map(|source| &**source as &(dyn StdError + 'static))
    }
}

/// Why a call of the frontend failed. The text says all that is known, the store's own words included;
/// its source is what the store's driver reported.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The time limit passed before the lock was free. Nothing is held.
    Timeout {
        /// How long this call waited, queueing and store calls included.
        waited: Duration,
        /// Who held the lock when the store last answered; `None` if it never did.
        holder: Option<Box<Holder>>,
        /// The last error of the store, if it has never answered, or not in the last sixth of a lease
        /// before the end. Part of the message, so it is not repeated as a source; its own source is.
        source: Option<ProviderError>,
    },
    /// The lease was lost. Nothing protects the work any more.
    Lost(Loss),
    /// The store gave no answer. An acquire that ends so holds nothing: what it may have left in
    /// the store is given back in the background.
    Provider(ProviderError),
    /// The ticket is another lock's. Nothing was asked.
    OtherLock {
        /// What the ticket is for.
        ticket: Name,
        /// Where it was shown.
        lock: Name,
    },
    /// The [`Client`](crate::Client) was closed.
    Closed,
}

impl Error {
    /// What the store last failed with, if it did not answer at the end: of [`Error::Provider`], and of
    /// an [`Error::Timeout`] that a silent store has caused. A timeout without it means that somebody
    /// else has the lock, which is no fault of the store.
    #[must_use]
    pub const fn store_error(&self) -> Option<&ProviderError> {
        match self {
            Self::Provider(error) => Some(error),
            Self::Timeout { source, .. } => source.as_ref(),
            Self::Lost(_) | Self::OtherLock { .. } | Self::Closed => None,
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
                let holder = held_by(holder.as_deref());
                write!(f, "the lock was not acquired within {waited:?}{holder}")?;
                match source {
                    Some(error) => write!(f, "; {}: {error}", no_answer(error)),
                    None => Ok(()),
                }
            }
            Self::Lost(loss) => loss.fmt(f),
            Self::Provider(error) => write!(f, "{}: {error}", no_answer(error)),
            Self::OtherLock { ticket, lock } => {
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

impl From<Loss> for Error {
    fn from(loss: Loss) -> Self {
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

fn held_by(holder: Option<&Holder>) -> String {
    match holder {
        Some(Holder { ours: true, .. }) => {
            ": this process holds it already (locks are not re-entrant)".into()
        }
        Some(Holder { record, .. }) => {
            format!(": held by {:?} with token {}", record.owner, record.token)
        }
        None => String::new(),
    }
}

/// A lease ended before its holder gave it back.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loss {
    /// The token of the term that ended.
    pub token: FencingToken,
    /// How it ended. Part of the message, so it is not repeated as a source; its own source is.
    pub cause: LossCause,
    /// The closure of [`DLock::with`](crate::DLock::with) ran to its end, but the lease was over
    /// by then: its effects may overlap with another holder's unless storage checks the token.
    pub work_finished: bool,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            token,
            cause,
            work_finished,
        } = self;
        match cause {
            // The term is there, and no longer ours.
            LossCause::Refused {
                record: Some(record),
            } if record.token == *token => write!(
                f,
                "the lease with token {token} was taken away: revoked, or released by force"
            )?,
            cause => write!(f, "the lease with token {token} {cause}")?,
        }
        if *work_finished {
            f.write_str("; the work had ended, but too late to be protected to its end")?;
        }
        Ok(())
    }
}

impl StdError for Loss {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.source()
    }
}

/// How a lease was lost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LossCause {
    /// Its time ran out without a successful renewal (V5). Nobody else could have it before.
    Expired {
        /// What the last failed renewal reported, if there was one. Part of the message, so it is not
        /// repeated as a source; its own source is.
        last_error: Option<ProviderError>,
    },
    /// The store refused a renewal (R3): the term is over there. The record that shows it, if any.
    Refused {
        /// Who holds the lock now, or what is left of our own term.
        record: Option<Box<Record>>,
    },
    /// It was held for the longest time that was allowed, so its renewals stopped.
    HeldTooLong,
    /// Its own handle released it.
    Released,
    /// Its own handle handed it over: whoever redeems the ticket goes on.
    HandedOver,
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired { last_error: None } => {
                f.write_str("ran out without a successful renewal")
            }
            Self::Expired {
                last_error: Some(error),
            } => write!(f, "ran out because its renewals failed: {error}"),
            Self::Refused {
                record: Some(record),
            } => {
                write!(
                    f,
                    "was taken over by {:?} with token {}",
                    record.owner, record.token
                )
            }
            Self::Refused { record: None } => f.write_str("has no record in the store any more"),
            Self::HeldTooLong => f.write_str("was held for the longest time allowed"),
            Self::Released => f.write_str("was released"),
            Self::HandedOver => f.write_str("was handed over"),
        }
    }
}

impl StdError for LossCause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Expired {
                last_error: Some(error),
            } => error.source(),
            _ => None,
        }
    }
}

/// A setting that no lock can have. Each message says what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The name of the lock.
    #[error("not a lock name: {reason}; a name is 1 to 1024 bytes of UTF-8 without NUL")]
    Name {
        /// What is wrong.
        reason: &'static str,
    },
    /// The owner's label.
    #[error("not an owner label: {reason}; a label is at most 1024 bytes of UTF-8 without NUL")]
    Owner {
        /// What is wrong.
        reason: &'static str,
    },
    /// The lease.
    #[error("a lease of {duration:?} is not possible: it takes whole milliseconds, 100 ms to 24 h")]
    Duration {
        /// What was asked for.
        duration: Duration,
    },
    /// The safety margin.
    #[error(
        "a margin of {margin} is not possible: it is a fraction of the lease, 0.01 to 0.5, and at least 2 ms of it"
    )]
    Margin {
        /// What was asked for.
        margin: f64,
    },
    /// The renewal interval.
    #[error(
        "renewing a lease of {duration:?} every {renew_every:?} is not possible: the interval is D/20 to 0.4 D"
    )]
    RenewEvery {
        /// What was asked for.
        renew_every: Duration,
        /// The lease.
        duration: Duration,
    },
    /// The poll interval.
    #[error("polling every {poll_every:?} is not possible: the interval is 1 ms to 1 h")]
    PollEvery {
        /// What was asked for.
        poll_every: Duration,
    },
    /// How long an acquire keeps asking a store that does not answer.
    #[error(
        "giving up on a silent store after {give_up_after:?} is not possible: it takes 1 ms to 24 h"
    )]
    GiveUpAfter {
        /// What was asked for.
        give_up_after: Duration,
    },
    /// The longest hold.
    #[error(
        "a longest hold of {max_hold:?} is not possible: it cannot be shorter than the lease of {duration:?}"
    )]
    MaxHold {
        /// What was asked for.
        max_hold: Duration,
        /// The lease.
        duration: Duration,
    },
    /// The least time that everybody else is kept out.
    #[error(
        "keeping others out for at least {at_least:?} is not possible: it takes 100 ms to 24 h"
    )]
    AtLeast {
        /// What was asked for.
        at_least: Duration,
    },
    /// The least time again: the store's provider cannot keep it.
    #[error("the provider for {backend} cannot close names, so `at_least` is not possible with it")]
    NoClosing {
        /// What it calls its store.
        backend: &'static str,
    },
    /// The data stored beside the lock.
    #[error("{bytes} bytes of data do not fit beside a lock: at most 4096 do")]
    Data {
        /// How many were offered.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_chain_says_everything_once() {
        let driver = || std::io::Error::other("os error 111");
        let reset = || ProviderError::unknown("connection reset").with_source(driver());
        let lost = Loss {
            token: FencingToken::MAX,
            cause: LossCause::Expired {
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
    fn loss_tells_a_revocation_from_a_takeover() {
        let loss = |token: u64| Loss {
            token: FencingToken::MAX,
            cause: LossCause::Refused {
                record: Some(Box::new(Record::new(
                    uuid::Uuid::from_u128(1),
                    "worker-7",
                    std::time::UNIX_EPOCH,
                    FencingToken::new(token).unwrap(),
                    Duration::from_secs(15),
                ))),
            },
            work_finished: false,
        };
        assert!(
            loss(FencingToken::MAX.get())
                .to_string()
                .contains("was taken away")
        );
        assert!(
            loss(7)
                .to_string()
                .contains("was taken over by \"worker-7\" with token 7")
        );
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
