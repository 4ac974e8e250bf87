//! The content of one text: a version, and when it was first seen. Plain text, with a single spelling, and a checksum
//! at its end: an instant that lost a digit must not pass for an earlier one.

use std::str::FromStr;

use crate::{provider::Version, time::ContenderInstant};

/// The first sight of a version.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstSeen {
    pub(super) version: Version,
    /// Taken after the reply that showed it.
    pub(super) first: ContenderInstant,
}

/// The text is not ours, or is not as it was written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damaged;

impl FirstSeen {
    /// The text for a clock of this origin.
    pub(super) fn render(&self, origin: &str) -> String {
        let Self {
            version: Version { uuid, renewals },
            first,
        } = self;
        let (boot, raw) = first.readings();
        let mut text = format!(
            "dlock observation 1\norigin {origin}\nversion {uuid} {renewals}\nboottime {boot}\nraw {raw}\n"
        );
        let sum = fnv(text.as_bytes());
        text.push_str(&format!("sum {sum:016x}\n"));
        text
    }

    /// The content of a text, if it is of this origin.
    pub(super) fn parse(text: &str, origin: &str) -> Result<Option<Self>, Damaged> {
        let (body, _) = text.rsplit_once("sum ").ok_or(Damaged)?;
        if text != format!("{body}sum {:016x}\n", fnv(body.as_bytes())) {
            return Err(Damaged);
        }
        let mut lines = body.lines();
        if lines.next() != Some("dlock observation 1") {
            return Err(Damaged);
        }
        let mut field = |name: &str| {
            let value = lines.next()?.strip_prefix(name)?;
            value.strip_prefix(' ')
        };
        let of_origin = field("origin").ok_or(Damaged)?;
        let version = field("version").and_then(|value| value.split_once(' '));
        let (uuid, renewals) = version.ok_or(Damaged)?;
        let sight = Self {
            version: Version {
                uuid: number(uuid)?,
                renewals: number(renewals)?,
            },
            first: ContenderInstant::at(
                number(field("boottime").ok_or(Damaged)?)?,
                number(field("raw").ok_or(Damaged)?)?,
            ),
        };
        Ok((of_origin == origin).then_some(sight))
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, Damaged> {
    text.parse().map_err(|_| Damaged)
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo): against accidents, not against people. A change of one byte
/// always changes it.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
