//! How a lease ends, and how it stands until then.

use std::{error::Error as StdError, fmt};

use crate::{FencingToken, ProviderError, Record};

/// A guarded lease as an operator wants to see it (V8).
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "the protocol knows these three")]
pub enum State {
    /// Held, and the last renewal came in time.
    Valid,
    /// Still held, but a renewal is overdue or was refused for good (missing rights, say): without
    /// a success the lease will be lost. Early enough to finish or hand over what is in work.
    Unsure,
    /// Not held any more: given back, or lost.
    Ended(End),
}

/// How a release ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the three things that can be known"
)]
pub enum ReleaseEnd {
    /// The term is over in the store, and the next contender may have the lock. Or this client's own next waiter
    /// may get the lock on the same term (S1): that is the same to the holder.
    ///
    /// Or the name is closed until its `at_least` is over (B4): kept, and confirmed.
    ///
    /// Also if the release had to be repeated and found somebody else there, and the lease was valid
    /// when it began: the first attempt was applied, and its reply lost; or the lock was taken away
    /// meanwhile. The work was protected to its end.
    Released,
    /// The term was not this holder's any more: it had expired and was taken over, or was taken away. The record
    /// that shows it, if there is one. Nothing changed in the store. Said only in answer to a first
    /// attempt, so no request of this client can be the reason.
    NotHeld(Option<Record>),
    /// The store gave no answer for as long as it could hold the lease; or the lease had ended before its release
    /// began, and whether the release or another client ended the term in the store cannot be told. The store
    /// has let go by now, by the release or by the expiry. Of a lock with `at_least`: whether the name
    /// is closed is not known, or somebody has it before that time is over.
    Unconfirmed,
}

/// A lease has ended: its holder gave it back, or it was lost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct End {
    /// The token of the lease that ended.
    pub token: FencingToken,
    /// The last of the tokens that came with its term, which the record shows.
    pub(crate) shown: FencingToken,
    /// How it ended. Part of the message, so it is not repeated as a source; its own source is.
    pub cause: EndCause,
    /// The closure of [`DLock::with`](crate::DLock::with) ran to its end, but the lease was over
    /// by then: its effects may overlap with another holder's unless storage checks the token.
    pub work_finished: bool,
}

impl End {
    /// Whether the lease was lost: it ended while its holder still meant to have it.
    #[must_use]
    pub const fn is_loss(&self) -> bool {
        !matches!(self.cause, EndCause::Released | EndCause::HandedOver)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            token,
            shown,
            cause,
            work_finished,
        } = self;
        match cause {
            // The term is there, and no longer ours.
            EndCause::Refused {
                record: Some(record),
            } if record.token == *shown => write!(
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

impl StdError for End {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.source()
    }
}

/// How a lease ended. All but [`Released`](Self::Released) and [`HandedOver`](Self::HandedOver) are losses.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EndCause {
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
    /// Its own handle handed it over to the redeemer of the ticket.
    HandedOver,
}

impl fmt::Display for EndCause {
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

impl StdError for EndCause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Expired {
                last_error: Some(error),
            } => error.source(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn loss_tells_a_revocation_from_a_takeover() {
        let loss = |token: u64| End {
            token: FencingToken::new(7).unwrap(),
            shown: FencingToken::MAX,
            cause: EndCause::Refused {
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
}
