//! Fencing (T3) for a resource in memory, and the answers of fences in stores. Stores have their own `fence` modules,
//! which keep the rule inside the write that changes the data, in the same words (the book, "Fencing at the
//! storage").

use std::error::Error as StdError;

use crate::FencingToken;

/// Remembers the highest fencing token a resource has seen and refuses lower ones (T3).
///
/// Keep it under the same mutex (or inside the same atomic write) as the data it guards: if the check is not part of
/// the write, another write can come between the two.
///
/// ```
/// # use dlock_core::{Fence, FencingToken};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let older = FencingToken::try_from(7)?;
/// let newer = FencingToken::try_from(8)?;
/// let mut fence = Fence::default();
/// fence.check(newer)?;
/// fence.check(newer)?; // the same holder writes again
/// let stale = fence.check(older).unwrap_err();
/// assert_eq!((stale.presented, stale.highest), (older, newer));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fence {
    highest: Option<FencingToken>,
}

impl Fence {
    /// A fence that continues from a token remembered elsewhere.
    #[must_use]
    pub const fn resume(highest: Option<FencingToken>) -> Self {
        Self { highest }
    }

    /// Accepts a write that carries `token`, and remembers it.
    ///
    /// Equal tokens are the same holder's next write and pass.
    ///
    /// # Errors
    /// [`Stale`] if a greater token was accepted before: the writer has lost its lease and another holder has written
    /// since. Nothing changed; the writer should stop.
    pub fn check(&mut self, token: FencingToken) -> Result<(), Stale> {
        match self.highest {
            Some(highest) if token < highest => Err(Stale {
                presented: token,
                highest,
            }),
            _ => {
                self.highest = Some(token);
                Ok(())
            }
        }
    }

    /// The highest token accepted so far.
    #[must_use]
    pub const fn highest(&self) -> Option<FencingToken> {
        self.highest
    }
}

/// A write was refused because a later holder has written already (T3).
///
/// Pass `highest` to [`DLock::raise_floor`](crate::DLock::raise_floor), so that the next grant is above what the
/// resource has seen even if the lock's store lost its data (T6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stale fencing token {presented}: the resource has already seen {highest}")]
#[expect(
    clippy::exhaustive_structs,
    reason = "the rule has these two numbers; stores build it"
)]
pub struct Stale {
    /// The token of the refused write.
    pub presented: FencingToken,
    /// The highest token the resource has accepted.
    pub highest: FencingToken,
}

/// The reason why a store did not make a write that carries a fencing token; `E` is the store's own error. Except for
/// [`FenceError::Store`], nothing changed.
///
/// If the fence is checked in a transaction of the caller's, roll that transaction back after any of these errors:
/// nothing else does.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FenceError<E: StdError + 'static> {
    /// A later holder has written: this writer has lost its lease, and should stop.
    #[error(transparent)]
    Stale(Stale),
    /// The fence holds a value that is not a token.
    #[error("{place} is not a fencing token: find out who wrote it, or name another")]
    Foreign {
        /// The place of that value.
        place: String,
    },
    /// The resource of this name has no place to remember a token.
    #[error("{resource:?} has no place for a fencing token: {reason}")]
    NoPlace {
        /// The resource.
        resource: String,
        /// The reason, and what to do.
        reason: &'static str,
    },
    /// The store refused the write for another reason, or gave no answer; in that case the write, or the commit of
    /// its transaction, may have been made.
    #[error("the store did not confirm the fenced write")]
    Store(#[from] E),
}

impl<E: StdError + 'static> FenceError<E> {
    /// The error for a token that the fence at `place` has refused: the fence holds `highest`, or no token at all.
    #[must_use]
    pub fn refused(
        presented: FencingToken,
        highest: Option<FencingToken>,
        place: impl FnOnce() -> String,
    ) -> Self {
        match highest {
            Some(highest) => Self::Stale(Stale { presented, highest }),
            None => Self::Foreign { place: place() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(value: u64) -> FencingToken {
        FencingToken::new(value).unwrap()
    }

    #[test]
    fn fence_admits_what_is_not_older_and_remembers_the_highest() {
        let mut fence = Fence::default();
        assert_eq!(fence.highest(), None);
        for accepted in [3, 3, 5] {
            assert_eq!(fence.check(token(accepted)), Ok(()));
            assert_eq!(fence.highest(), Some(token(accepted)));
        }
        let stale = fence.check(token(4));
        assert_eq!(
            stale,
            Err(Stale {
                presented: token(4),
                highest: token(5)
            })
        );
        assert_eq!(fence.highest(), Some(token(5)), "a refusal changes nothing");
    }

    #[test]
    fn resumed_fence_refuses_what_was_refused_before() {
        let mut fence = Fence::resume(Some(token(5)));
        assert!(fence.check(token(4)).is_err());
        assert_eq!(fence.check(token(5)), Ok(()));
    }

    #[test]
    fn what_refuses_a_token_is_a_later_one_or_none() {
        let refused = |highest| {
            FenceError::<std::io::Error>::refused(token(4), highest, || "the field".to_owned())
        };
        let stale = refused(Some(token(5)));
        assert!(
            matches!(&stale, FenceError::Stale(stale) if stale.highest == token(5)),
            "{stale}"
        );
        let foreign = refused(None);
        assert!(
            foreign.to_string().starts_with("the field is not"),
            "{foreign}"
        );
    }
}
