//! The mark that a refused waiter leaves in the record (N1): a number that distinguishes it from other contenders.

/// The mark of the waiter with this label: FNV-1a with 32 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>), and
/// never 0. All waiters for a name must compute it this way, since they distinguish each other by it.
#[must_use]
pub fn mark(label: &str) -> u32 {
    hash(label.bytes())
}

/// The mark of one of several contenders with one label: the first has the number 0, and the label's own mark.
pub(crate) fn mark_of(label: &str, number: u8) -> u32 {
    let number = (number > 0).then_some(number);
    hash(label.bytes().chain(number))
}

fn hash(bytes: impl Iterator<Item = u8>) -> u32 {
    const OFFSET: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    let hash = bytes.fold(OFFSET, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(PRIME)
    });
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_is_the_published_hash_of_the_label_and_tells_runtimes_apart() {
        assert_eq!(mark(""), 0x811c_9dc5);
        assert_eq!(mark("a"), 0xe40c_292c);
        assert_eq!(mark("foobar"), 0xbf9c_f968);
        assert_eq!(mark_of("a", 0), mark("a"));
        assert_ne!(mark_of("a", 1), mark("a"));
        assert_ne!(mark_of("a", 1), mark_of("a", 2));
    }
}
