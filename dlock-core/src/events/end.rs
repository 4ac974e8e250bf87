//! The end of a lease, and its state until then.

use std::{error::Error as StdError, fmt};

use uuid::Uuid;

use crate::{FencingToken, ProviderError, Record};

/// The state of a lease as an operator wants to see it.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "the protocol knows these three")]
pub enum State {
    /// Held, and the last renewal came in time.
    Valid,
    /// Still held, but a renewal is overdue or was refused for good (missing rights, say): without a success the
    /// lease will be lost. It is early enough to finish or hand over the work in progress.
    Unsure,
    /// No longer held: released, or lost.
    Ended(End),
}

/// How a release ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the three things that can be known"
)]
pub enum ReleaseEnd {
    /// The term has ended in the store, and the next contender may get the lock. Or this client's own next waiter may
    /// get the lock on the same term: to the holder that is the same.
    ///
    /// Or the store has confirmed that the name is closed until its `at_least` has passed (B4).
    ///
    /// Also if the release had to be repeated and found another holder there, and the lease was valid when it began:
    /// either the first attempt was applied and its reply lost, or the lock was taken away meanwhile. The work was
    /// protected to its end.
    Released,
    /// The term was no longer this holder's: it had expired and was taken over, or was taken away. With the record
    /// that shows it, if it exists. Nothing changed in the store. Reported only in answer to a first attempt, so no
    /// request of this client can be the reason.
    NotHeld(Option<Record>),
    /// The store gave no answer for as long as it could hold the lease; or the lease had ended before its release
    /// began, and it is not known whether the release or another client ended the term in the store. The store has
    /// let go by now, by the release or by the expiry. For a lock with `at_least`: it is not known whether the name
    /// is closed, or another client has it before that time has passed.
    Unconfirmed,
}

/// The end of a lease: its holder released it, or it was lost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct End {
    /// The token of the lease that ended.
    pub token: FencingToken,
    /// How it ended. Part of the message, so it is not repeated as a source; its own source is.
    pub cause: EndCause,
    /// The closure of [`DLock::with`](crate::DLock::with) ran to its end, but the lease had ended by then: its
    /// effects may overlap with another holder's unless storage checks the token.
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
            cause,
            work_finished,
        } = self;
        write!(f, "the lease with token {token} {cause}")?;
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
    /// Its time ran out without a successful renewal. No other client could get the lock before that.
    Expired {
        /// The error of the last failed renewal, if there was one. Part of the message, so it is not
        /// repeated as a source; its own source is.
        last_error: Option<ProviderError>,
    },
    /// The store refused a renewal (R3): the term has ended there. With the record that shows it, if any.
    #[non_exhaustive]
    Refused {
        /// The record of the present holder, or what remains of our own term.
        record: Option<Box<Record>>,
        /// The uuid of our own term, and the last of the tokens that came with it: its record has both.
        term: (Uuid, FencingToken),
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
            Self::Refused { record: None, .. } => {
                f.write_str("has no record in the store any more")
            }
            Self::Refused {
                record: Some(now),
                term: (uuid, token),
            } => match &now.owner {
                // R3 for a term whose record is still there: its time had passed by the store's clock.
                _ if now.held_by(*uuid) => {
                    f.write_str("ran out in the store before its renewal arrived")
                }
                _ if now.token == *token => {
                    f.write_str("was taken away: revoked, or released by force")
                }
                owner => write!(f, "was taken over by {owner:?} with token {}", now.token),
            },
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
    fn loss_says_what_the_record_shows() {
        let said = |uuid, token, released| {
            let term = |uuid, token| (Uuid::from_u128(uuid), FencingToken::new(token).unwrap());
            let ((uuid, token), since) = (term(uuid, token), std::time::UNIX_EPOCH);
            let mut now = Record::new(uuid, "worker-7", since, token, Duration::from_secs(15));
            now.released = released;
            let record = Some(Box::new(now));
            let term = term(1, 9);
            EndCause::Refused { record, term }.to_string()
        };
        let taken_away = "was taken away: revoked, or released by force";
        assert!(said(1, 9, false).starts_with("ran out in the store"));
        assert_eq!(said(1, 9, true), taken_away);
        assert_eq!(said(2, 9, false), taken_away);
        assert_eq!(said(2, 9, true), taken_away);
        let taken_over = "was taken over by \"worker-7\" with token 10";
        assert_eq!(said(2, 10, false), taken_over);
    }
}
