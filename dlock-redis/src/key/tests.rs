//! Keys of locks, which can be read back, and channels, whose names no key has.

use super::*;

fn prefix(text: &str) -> Prefix {
    Prefix::new(text).unwrap()
}

#[test]
fn keys_are_names_and_back() {
    for text in ["n", "a}b", "}", "{x}", "a:{b}", "ü"] {
        let name = Name::new(text).unwrap();
        let key = prefix("p:q").key(&name).unwrap();
        assert_eq!(prefix("p:q").name(key.as_bytes()), Some(name));
        assert_eq!(prefix("p").name(key.as_bytes()), None);
    }
    for foreign in ["p:q:{}", "p:q:{n", "p:q:n", "P:q:{n}"] {
        assert_eq!(prefix("p:q").name(foreign.as_bytes()), None, "{foreign}");
    }
}

#[test]
fn prefixes_that_could_be_confused_are_refused() {
    for bad in ["", "a{", "}", "a\0", &"x".repeat(1024)] {
        assert!(Prefix::new(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn channels_of_shards_live_in_their_slots_and_are_no_others() {
    let channels: Vec<String> = (0..slots::SHARDS)
        .map(|shard| prefix("p:released").shard_channel(shard))
        .collect();
    for (shard, channel) in (0..).zip(&channels) {
        assert_eq!(slots::shard(channel.as_bytes()), shard, "{channel}");
        assert!(!channels[..usize::from(shard)].contains(channel));
        assert_ne!(*channel, prefix("p").channel());
    }
}

#[test]
fn channels_of_locks_are_no_others() {
    let neighbours = ["p", "p:released", "p:released:released"].map(prefix);
    let names = ["a", "released", "{", "}:{a"].map(|name| Name::new(name).unwrap());
    let mut channels: Vec<String> = neighbours.iter().map(Prefix::channel).collect();
    for prefix in &neighbours {
        channels.extend(names.iter().map(|name| prefix.lock_channel(name)));
    }
    let different: std::collections::BTreeSet<&String> = channels.iter().collect();
    assert_eq!(different.len(), channels.len(), "{channels:?}");
}
