//! The mark that a refused waiter leaves in the record (N1): a number that tells it from other contenders.

/// The mark of the contender with this label: FNV-1a with 32 bits
/// (<http://www.isthe.com/chongo/tech/comp/fnv/>), and never 0. The runtimes of one client contend by themselves, and
/// all but the first add their number.
pub(crate) fn mark(label: &str, runtime: u8) -> u32 {
    const OFFSET: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    let number = (runtime > 0).then_some(runtime);
    let bytes = label.bytes().chain(number);
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
        assert_eq!(mark("", 0), 0x811c_9dc5);
        assert_eq!(mark("a", 0), 0xe40c_292c);
        assert_eq!(mark("foobar", 0), 0xbf9c_f968);
        assert_ne!(mark("a", 1), mark("a", 0));
        assert_ne!(mark("a", 1), mark("a", 2));
    }
}
