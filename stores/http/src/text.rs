//! Instants, times and bytes in JSON, and the form of namespaces.

use std::time::{Duration, SystemTime};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// An instant: RFC 3339 in UTC, `2026-11-25T04:14:03.25Z`. For people; decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
pub struct Time(pub SystemTime);

/// Whether the text is a namespace: 1 to 63 of `a-z`, `0-9` and `-`.
#[must_use]
pub fn is_namespace(text: &str) -> bool {
    let allowed = |letter: u8| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=63).contains(&text.len()) && text.bytes().all(allowed)
}

/// A time in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Millis(pub u64);

/// Bytes, as base64 with the usual alphabet and padding (RFC 4648, section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = String, format = Byte))]
pub struct Base64(pub Vec<u8>);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A store can show an instant that no calendar has. Such an instant is as far away as possible.
        let instant = Timestamp::try_from(self.0).unwrap_or(if self.0 < SystemTime::UNIX_EPOCH {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        });
        serializer.collect_str(&instant)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let instant: Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(Self(instant.into()))
    }
}

impl Millis {
    /// A time, rounded up to the millisecond.
    #[must_use]
    pub fn rounded_up(time: Duration) -> Self {
        let millis = time.as_nanos().div_ceil(1_000_000);
        Self(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    /// A time, rounded down to the millisecond.
    #[must_use]
    pub fn rounded_down(time: Duration) -> Self {
        Self(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }
}

impl From<Millis> for Duration {
    fn from(Millis(millis): Millis) -> Self {
        Self::from_millis(millis)
    }
}

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_and_bytes_are_read_back() {
        let time = Time(SystemTime::UNIX_EPOCH + Duration::from_millis(1_764_044_043_250));
        let text = serde_json::to_string(&time).unwrap();
        assert_eq!(text, "\"2025-11-25T04:14:03.25Z\"");
        assert_eq!(serde_json::from_str::<Time>(&text).unwrap(), time);
        let bytes = Base64(vec![0, 255, 7]);
        let text = serde_json::to_string(&bytes).unwrap();
        assert_eq!(serde_json::from_str::<Base64>(&text).unwrap(), bytes);
        assert!(serde_json::from_str::<Base64>("\"%\"").is_err());
    }

    #[test]
    fn part_of_a_millisecond_counts_as_its_direction_says() {
        let time = Duration::from_micros(1_500);
        assert_eq!(Millis::rounded_up(time), Millis(2));
        assert_eq!(Millis::rounded_down(time), Millis(1));
        assert_eq!(Millis::rounded_up(Duration::MAX), Millis(u64::MAX));
    }
}
