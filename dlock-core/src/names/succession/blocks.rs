//! How many tokens a term is asked for where others stand in line (S1): as many as leases follow one another in an
//! instant. A term keeps its name from the store, and from other processes, until its tokens are used up (S3).

#[cfg(test)]
mod tests;

use std::{num::NonZeroU8, time::Duration};

use crate::provider::Tokens;

/// Where nothing is known of the leases. What it saves is most of what there is to save where a lease takes longer
/// than a call to the store.
const FEWEST: NonZeroU8 = NonZeroU8::new(16).unwrap();

/// A term that has used up its tokens before this could have been twice as long and others would hardly have
/// noticed: half of the shortest pause between two polls, if nobody has set another.
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

    /// After a term that has used up all of its tokens in this time. One that has not, because others asked for the
    /// name or nobody stood in line, says that few are enough, as does the default.
    pub(super) fn after_used_up(self, took: Duration) -> Self {
        if took >= SHORT {
            return Self::default();
        }
        let twice = self.0.saturating_mul(NonZeroU8::MIN.saturating_add(1));
        Self(twice.min(Tokens::MOST))
    }
}
