//! How locks are shown to people. Nothing here decides anything.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use dlock_core::{Name, Record};
use dlock_stores::text::harmless;

/// The first second of the year 10000, for which the format has no room.
const TOO_LATE: Duration = Duration::from_secs(253_402_300_800);

/// The condition of the lock according to its record: as the store's clock saw it when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Held,
    /// Released, but its last holder keeps all others out until its time has passed.
    Closed,
    /// Its holder is gone, or can't reach the store; the next contender takes it.
    Expired,
    Released,
}

impl Condition {
    pub(crate) const fn of(record: &Record) -> Self {
        match record.remaining {
            _ if record.released => Self::Released,
            Some(Duration::ZERO) => Self::Expired,
            _ if record.is_closed() => Self::Closed,
            _ => Self::Held,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Closed => "closed",
            Self::Expired => "expired",
            Self::Released => "released",
        }
    }
}

/// The content of a record, as a sentence: who holds the lock, or who did.
pub(crate) fn condition(name: &Name, record: &Record) -> String {
    let name = name.as_str();
    let (owner, token) = (harmless(&record.owner), record.token);
    match Condition::of(record) {
        Condition::Held | Condition::Closed => format!("{name:?} is {}", Holding(record)),
        Condition::Expired => {
            format!("{name:?} is free, the lease of {owner} has ended, token {token}")
        }
        Condition::Released => {
            format!("{name:?} is free, {owner} has released it, token {token}")
        }
    }
}

/// The time of the wall clock.
#[expect(
    clippy::disallowed_methods,
    reason = "it is shown to people and decides nothing"
)]
pub(crate) fn wall_clock() -> SystemTime {
    SystemTime::now()
}

/// An instant in UTC, by the second; `None` for one that no calendar shows.
pub(crate) fn instant(time: SystemTime) -> Option<String> {
    let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    (since_epoch < TOO_LATE).then(|| humantime::format_rfc3339_seconds(time).to_string())
}

/// A span that was configured, such as a lease, in the units that options take: "2s", "1m 30s", "1s 250ms".
pub(crate) fn exact(span: Duration) -> String {
    humantime::format_duration(span).to_string()
}

/// The maximum number of characters of a name, a queue or a kind that a table shows.
const WIDEST: usize = 60;

/// A name as a table shows it: harmless to a terminal; a long one is reduced to its beginning and its end, with an
/// ellipsis between them. JSON has all of it.
pub(crate) fn short_name(name: &str) -> String {
    let name = harmless(name);
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= WIDEST {
        return name;
    }
    let end = letters.len() - WIDEST / 3;
    let beginning = letters.iter().take(WIDEST - WIDEST / 3 - 1);
    let letters = beginning.chain(&['…']).chain(letters.iter().skip(end));
    letters.collect()
}

/// A span that was measured, to the second; spans below ten seconds to the tenth.
pub(crate) fn span(span: Duration) -> String {
    if span < Duration::from_secs(10) {
        format!("{:.1}s", span.as_secs_f64())
    } else {
        humantime::format_duration(Duration::from_secs(span.as_secs())).to_string()
    }
}

/// The holder of a lock, and since when: "held by web-1:4711 since 2026-11-21T09:00:00Z (2m 5s ago)". Or, where the
/// lock is closed, after whose work and for how much longer: "closed after the work of web-1:4711, for another 9m
/// 57s".
pub(crate) struct Holding<'a>(pub(crate) &'a Record);

impl fmt::Display for Holding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record {
            owner,
            since,
            token,
            ..
        } = self.0;
        if self.0.is_closed() {
            write!(f, "closed after the work of {}", harmless(owner))?;
            match self.0.remaining {
                Some(left) => write!(f, ", for another {}", span(left))?,
                // Only an observer's clock shows when it ends.
                None => write!(f, ", for {} in all", exact(self.0.duration))?,
            }
            return write!(f, ", token {token}");
        }
        write!(f, "held by {}", harmless(owner))?;
        if let Some(instant) = instant(*since) {
            write!(f, " since {instant}")?;
        }
        if let Ok(age) = since.elapsed() {
            write!(f, " ({} ago)", span(age))?;
        }
        write!(f, ", token {token}")
    }
}

#[cfg(test)]
mod tests {
    use dlock_core::FencingToken;

    use super::*;

    #[test]
    fn nonsense_in_a_record_is_shown_without_panic() {
        let token = FencingToken::new(7).unwrap();
        for since in [
            SystemTime::UNIX_EPOCH - Duration::from_secs(1_000_000_000_000),
            SystemTime::UNIX_EPOCH + TOO_LATE,
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000_000),
        ] {
            let record = Record::new(uuid(), "a\u{1b}[2J\nb", since, token, Duration::MAX);
            let text = Holding(&record).to_string();
            assert!(text.starts_with("held by a\\u{1b}[2J\\nb"), "{text}");
            assert!(!text.contains("since"), "{text}");
        }
        assert!(!span(Duration::MAX).is_empty());
    }

    #[test]
    fn long_name_keeps_its_beginning_and_its_end() {
        let longest = "ä".repeat(WIDEST);
        assert_eq!(short_name(&longest), longest);
        let shown = short_name(&format!("start{longest}end"));
        assert_eq!(shown.chars().count(), WIDEST);
        assert!(shown.starts_with("startä") && shown.ends_with("äend") && shown.contains("ä…ä"));
    }

    #[test]
    fn chosen_spans_are_shown_as_they_were_chosen() {
        for (milliseconds, shown) in [(2000, "2s"), (1250, "1s 250ms"), (90_000, "1m 30s")] {
            assert_eq!(exact(Duration::from_millis(milliseconds)), shown);
        }
    }

    #[test]
    fn record_at_its_end_is_expired_and_a_released_one_is_released() {
        let mut record = Record::new(
            uuid(),
            "o",
            SystemTime::UNIX_EPOCH,
            FencingToken::new(1).unwrap(),
            Duration::from_secs(1),
        );
        assert_eq!(Condition::of(&record), Condition::Held);
        record.remaining = Some(Duration::from_millis(1));
        assert_eq!(Condition::of(&record), Condition::Held);
        record.remaining = Some(Duration::ZERO);
        assert_eq!(Condition::of(&record), Condition::Expired);
        record.released = true;
        assert_eq!(Condition::of(&record), Condition::Released);
    }

    fn uuid() -> uuid::Uuid {
        uuid::Uuid::from_u128(1)
    }
}
