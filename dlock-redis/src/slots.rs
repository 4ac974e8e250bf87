//! The slots of a cluster: which one a key is in; `cluster.rs` finds the node that serves it. A *shard* is one of a
//! fixed number of equal ranges of slots: one node serves all of a shard, except where a node's share ends in the
//! middle of it.

#[cfg(test)]
mod tests;

use std::{ops::RangeInclusive, sync::LazyLock};

/// Every slot there is.
pub(crate) const ALL: RangeInclusive<u16> = 0..=16383;

/// The number of shards: so great that few keys of a cluster of some dozen nodes are in a divided shard, and so small
/// that a subscriber can have a channel for each.
pub(crate) const SHARDS: u16 = 256;

/// The slots of one shard.
const SHARD: u16 = 16384 / SHARDS;

/// The number of parts for renewals, which are sent by part: so small that those of many locks are still sent together,
/// and so great that few parts are on two nodes.
const PARTS: u16 = 16;

/// The slot of a key, by its hash tag if it has one: the text between its first `{` and the next `}`, unless that is
/// empty.
pub(crate) fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = key.get(open + 1..)?;
        let close = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..close).filter(|tag| !tag.is_empty())
    });
    hash(tag.unwrap_or(key))
}

/// The shard of a key.
pub(crate) fn shard(key: &[u8]) -> u16 {
    slot(key) / SHARD
}

/// The part of a key: a coarser range of slots.
pub(crate) fn part(key: &[u8]) -> u64 {
    u64::from(slot(key) / (16384 / PARTS))
}

/// The slots of a shard.
const fn of_shard(shard: u16) -> RangeInclusive<u16> {
    shard * SHARD..=shard * SHARD + (SHARD - 1)
}

/// A hash tag of one of these slots, always the same.
pub(crate) fn tag_in(slots: &RangeInclusive<u16>) -> String {
    (0u32..)
        .map(|number| number.to_string())
        .find(|tag| slots.contains(&hash(tag.as_bytes())))
        .unwrap_or_default()
}

/// A hash tag of a shard.
pub(crate) fn tag_of_shard(shard: u16) -> &'static str {
    static TAGS: LazyLock<Vec<String>> =
        LazyLock::new(|| (0..SHARDS).map(|shard| tag_in(&of_shard(shard))).collect());
    TAGS.get(usize::from(shard)).map_or("", String::as_str)
}

/// CRC-16/XMODEM modulo 16384, as the specification of Redis Cluster defines it.
fn hash(tag: &[u8]) -> u16 {
    let crc = tag.iter().fold(0u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 }
        })
    });
    crc % 16384
}
