//! The fencing tokens that a grant brings: usually one, or a block of them.

use std::num::NonZeroU8;

use crate::{FencingToken, provider::Acquire};

/// The fencing tokens of one grant: consecutive ones, of which the record shows the **last** (T1).
///
/// If the [request](Acquire::tokens) asks for one token, there is one. A block is for leases that follow one another
/// on one term: each has its own token, from the [first](Self::first) on. The next grant's tokens are above the
/// record's, and so above the whole block; that holds even on a store that knows nothing of blocks.
///
/// ```
/// use dlock_core::{FencingToken, provider::Tokens};
/// use std::num::NonZeroU8;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let token = FencingToken::try_from(1_000)?;
/// let block = Tokens::new(token, NonZeroU8::try_from(3)?).ok_or("no block")?;
/// assert_eq!((block.first().get(), block.last().get()), (998, 1_000));
/// assert_eq!(Tokens::from(token).first(), token);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tokens {
    last: FencingToken,
    count: NonZeroU8,
}

impl Tokens {
    /// The most tokens of one grant: 128. A client lets no more leases than this follow one another on one term, so
    /// that a name returns to its store, and to others, now and then; unless leases are very short, no more than 16.
    pub const MOST: NonZeroU8 = match NonZeroU8::new(128) {
        Some(most) => most,
        None => NonZeroU8::MIN,
    };

    /// The block of `count` tokens that ends with `last`. `None` for more than [`MOST`](Self::MOST), and if there are
    /// fewer than `count` tokens up to `last`.
    ///
    /// For an answer to the request that **minted** them. If a store finds an earlier copy of the request (A2), it
    /// knows only the record's token: use [`Tokens::from`] with it. The granted copy may have asked for fewer tokens,
    /// or have gone to a store that mints one; the tokens below may be those of the holder before.
    #[must_use]
    pub const fn new(last: FencingToken, count: NonZeroU8) -> Option<Self> {
        if count.get() > Self::MOST.get() || last.get() < count.get() as u64 {
            return None;
        }
        Some(Self { last, count })
    }

    /// The token that the record shows, the greatest.
    #[must_use]
    pub const fn last(self) -> FencingToken {
        self.last
    }

    /// The number of tokens: 1 to [`MOST`](Self::MOST).
    #[must_use]
    pub const fn count(self) -> NonZeroU8 {
        self.count
    }

    /// The least token; if there is only one, it is also the last.
    #[must_use]
    pub const fn first(self) -> FencingToken {
        match self.nth(0) {
            Some(first) => first,
            None => self.last,
        }
    }

    /// The token that has `before` others of the block before it: 0 for the first. `None` past the last.
    #[must_use]
    pub const fn nth(self, before: u8) -> Option<FencingToken> {
        match self.count.get().checked_sub(before) {
            None | Some(0) => None,
            // Not below 1: there are as many tokens up to the last as the block has.
            Some(left) => FencingToken::new(self.last.get() + 1 - left as u64),
        }
    }
}

/// A single token, not a block.
impl From<FencingToken> for Tokens {
    fn from(token: FencingToken) -> Self {
        Self {
            last: token,
            count: NonZeroU8::MIN,
        }
    }
}

impl Acquire {
    /// The tokens of a grant of this request (T1): as many as it asks for, starting with `max(last + 1, now, floor)`.
    /// The new record shows the last of them.
    ///
    /// `last` is the token of the record that is taken, `None` if there is none; `now` is the store's unix time in
    /// microseconds, 0 if the store has no clock that this grant may rely on.
    ///
    /// `None` if the block would not end below 2^53 (T2): acquire answers `Fatal` then, and writes nothing.
    #[must_use]
    pub fn mint(&self, last: Option<FencingToken>, now: u64) -> Option<Tokens> {
        // Below 2^53, so one more does not wrap.
        let next = last.map_or(1, |last| last.get() + 1);
        let first = next.max(now).max(self.floor);
        let end = first.checked_add(u64::from(self.tokens.get() - 1))?;
        Tokens::new(FencingToken::new(end)?, self.tokens)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{Name, Record};

    fn token(value: u64) -> FencingToken {
        FencingToken::new(value).unwrap()
    }

    fn asking_for(count: u8) -> Acquire {
        let name = Name::new("door").unwrap();
        Acquire::new(name, Uuid::nil(), Record::SHORTEST).tokens(NonZeroU8::new(count).unwrap())
    }

    fn ends(tokens: Option<Tokens>) -> Option<(u64, u64)> {
        tokens.map(|tokens| (tokens.first().get(), tokens.last().get()))
    }

    #[test]
    fn block_is_counted_from_its_first_token_to_its_last() {
        let block = Tokens::new(token(10), NonZeroU8::new(3).unwrap()).unwrap();
        let tokens: Vec<_> = (0..=3).map(|before| block.nth(before)).collect();
        assert_eq!(
            tokens,
            [Some(token(8)), Some(token(9)), Some(token(10)), None]
        );
        assert_eq!((block.first(), block.last()), (token(8), token(10)));
        assert_eq!(block.nth(u8::MAX), None);
    }

    #[test]
    fn no_block_is_longer_than_128_or_reaches_below_the_first_token() {
        let count = |count| NonZeroU8::new(count).unwrap();
        assert!(Tokens::new(token(128), Tokens::MOST).is_some());
        assert!(Tokens::new(token(127), Tokens::MOST).is_none());
        assert!(Tokens::new(token(1000), count(129)).is_none());
        assert_eq!(Tokens::MOST.get(), 128);
    }

    #[test]
    fn one_token_is_the_next_the_time_or_the_floor() {
        let one = |last, now, floor| ends(asking_for(1).floor(floor).mint(last, now));
        assert_eq!(one(None, 0, 0), Some((1, 1)));
        for (now, floor, expected) in [(0, 0, 8), (8, 0, 8), (9, 8, 9), (9, 10, 10)] {
            let minted = one(Some(token(7)), now, floor);
            assert_eq!(minted, Some((expected, expected)), "{now} {floor}");
        }
        let most = FencingToken::MAX.get();
        assert_eq!(one(None, 0, most), Some((most, most)));
        assert_eq!(one(Some(FencingToken::MAX), 0, 0), None);
        assert_eq!(one(None, 0, most + 1), None);
        assert_eq!(one(None, 0, u64::MAX), None);
    }

    #[test]
    fn block_begins_where_one_token_would_be() {
        let block = |last, now, floor| ends(asking_for(16).floor(floor).mint(last, now));
        assert_eq!(block(None, 0, 0), Some((1, 16)));
        for (now, floor, first) in [(0, 0, 8), (8, 0, 8), (9, 8, 9), (9, 10, 10)] {
            let minted = block(Some(token(7)), now, floor);
            assert_eq!(minted, Some((first, first + 15)), "{now} {floor}");
        }
        // All of it is below the ceiling, or there is none.
        let most = FencingToken::MAX.get();
        assert_eq!(block(None, 0, most - 15), Some((most - 15, most)));
        assert_eq!(block(None, 0, most - 14), None);
        assert_eq!(block(Some(token(most - 15)), 0, 0), None);
        assert_eq!(block(None, 0, u64::MAX), None);
    }
}
