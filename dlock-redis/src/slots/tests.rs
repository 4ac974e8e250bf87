//! Slots as the specification of Redis Cluster defines them.

use super::*;

#[test]
fn slots_are_those_of_the_specification() {
    assert_eq!(hash(b"123456789"), 0x31c3);
    // The answers of `CLUSTER KEYSLOT`.
    assert_eq!(slot(b"foo"), 12182);
    assert_eq!(slot(b""), 0);
    assert_eq!(tag_in(&(16383..=16383)), "39296");
}

#[test]
fn hash_tags_decide_as_the_specification_says() {
    for tagged in ["{foo}", "a{foo}b", "a{foo}{bar}", "a{foo}b}"] {
        assert_eq!(slot(tagged.as_bytes()), 12182, "{tagged}");
    }
    for whole in ["a{}{foo}", "a{foo", "a}foo{"] {
        assert_eq!(slot(whole.as_bytes()), hash(whole.as_bytes()), "{whole}");
    }
    assert_eq!(slot(b"a{{foo}}"), hash(b"{foo"));
}

#[test]
fn shards_share_all_slots() {
    let mut next = 0;
    for shard in 0..SHARDS {
        let slots = of_shard(shard);
        assert_eq!(*slots.start(), next);
        next = slots.end() + 1;
        assert_eq!(
            self::shard(format!("{{{}}}", tag_in(&slots)).as_bytes()),
            shard
        );
    }
    assert_eq!(next, 16384);
}

#[test]
fn parts_are_equal_ranges_of_slots() {
    let part_of = |slot| part(format!("{{{}}}", tag_in(&(slot..=slot))).as_bytes());
    for (slot, part) in [(0, 0), (1023, 0), (1024, 1), (5461, 5), (16383, 15)] {
        assert_eq!(part_of(slot), part, "slot {slot}");
    }
}
