//! How many tokens a term is asked for when others stand in line: as many as the leases that follow one another in an
//! instant. A term keeps its name from the store, and from other processes, until its tokens are used up.

#[cfg(test)]
mod tests;

use std::{num::NonZeroU8, time::Duration};

use crate::provider::Tokens;

/// Used when nothing is known of the leases. It saves most of what can be saved where a lease takes longer than a
/// call to the store.
const FEWEST: NonZeroU8 = NonZeroU8::new(16).unwrap();

/// If a term has used up its tokens within this time, it could have been twice as long and others would hardly have
/// noticed: half of the shortest pause between two polls, unless another was set.
const SHORT: Duration = Duration::from_millis(50);

/// The number of tokens to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::names) struct BlockSize(NonZeroU8);

impl Default for BlockSize {
    fn default() -> Self {
        Self(FEWEST)
    }
}

impl BlockSize {
    pub(in crate::names) fn tokens(self) -> NonZeroU8 {
        self.0
    }

    /// The size after a term that has used up all of its tokens in this time. A term that has not, because others
    /// asked for the name or no other waiter stood in line, shows that few are enough; the default applies then.
    pub(super) fn after_used_up(self, took: Duration) -> Self {
        if took >= SHORT {
            return Self::default();
        }
        let twice = self.0.saturating_mul(NonZeroU8::MIN.saturating_add(1));
        Self(twice.min(Tokens::MOST))
    }
}
