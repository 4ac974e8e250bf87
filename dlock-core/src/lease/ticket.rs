//! A lease in transit from one process to another, as one line of text (the book, "Losing and failing": Handing over by
//! ticket).

use std::{fmt, str::FromStr, time::Duration};

use uuid::Uuid;

use crate::{Name, Record, provider::Version};

/// The tag that the text begins with: what the text is, and the version of its format.
const TAG: &str = "dlock-ticket-1";

/// One above the largest number of a renewal (R1).
const RENEWALS_END: u64 = 1 << 53;

/// A lease that was handed over: the process that redeems the ticket gets the lock, with a new term and a new
/// token.
///
/// Made by [`Lease::hand_over`](crate::Lease::hand_over), carried by the user (in an argument, a message, a row of a
/// table), used up by [`DLock::redeem`](crate::DLock::redeem) or its equivalents in any process that shares the
/// store. If two processes redeem one ticket, one gets the lock; the other is answered as any contender is. Until the
/// ticket is redeemed no process holds the lock, and it is free when the lease that was handed over would have run
/// out: as after a crash.
///
/// **A ticket is a key.** A process that can read it can take the lock, once; otherwise it contains no secrets.
///
/// As text it is one line without spaces, in ASCII: `dlock-ticket-1:` (the tag, with the version of
/// this format), the term as a hyphenated uuid in lower case, `:`, the number of its newest renewal
/// in decimal, `:`, for how many milliseconds it closes the name, `:`, and the name, in which every
/// byte but letters, digits, `-`, `.`, `_`, `~` and `/` is written as `%` and two capital
/// hexadecimal digits. Each ticket has one such text, and nothing else is read as a ticket.
///
/// If the lock has `at_least`, the ticket hands that over too: the redeemer continues the same work, and its release
/// closes the name for the remainder at the time of the hand-over, or for the `at_least` of its own lock if that ends
/// later. If the ticket is never redeemed, nothing is closed, as after a crash.
///
/// ```
/// use dlock_core::Ticket;
///
/// let text = "dlock-ticket-1:67e55044-10b1-426f-9247-bb680e5fe0c8:12:0:invoice%20run/7";
/// let ticket: Ticket = text.parse()?;
/// assert_eq!(ticket.name().as_str(), "invoice run/7");
/// assert_eq!(ticket.to_string(), text);
/// # Ok::<(), dlock_core::ParseTicketError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
#[must_use = "until it is redeemed, no process holds the lock"]
pub struct Ticket {
    name: Name,
    version: Version,
    /// How long the redeemer keeps every other client out (B4), in milliseconds; 0 without `at_least`.
    closes_for: u64,
}

/// A text that is not a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a ticket: {reason}")]
#[non_exhaustive]
pub struct ParseTicketError {
    /// The problem.
    pub reason: &'static str,
}

impl Ticket {
    pub(crate) const fn new(name: Name, version: Version) -> Self {
        Self {
            name,
            version,
            closes_for: 0,
        }
    }

    /// Closes the name for this long, rounded up to the millisecond.
    pub(crate) fn closing(self, left: Duration) -> Self {
        let millis = left.as_nanos().div_ceil(1_000_000);
        Self {
            closes_for: u64::try_from(millis).unwrap_or(u64::MAX),
            ..self
        }
    }

    /// How long it closes the name, from the grant on.
    pub(crate) const fn closes_for(&self) -> Duration {
        Duration::from_millis(self.closes_for)
    }

    /// The lock that it is for.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// The term that was handed over, for logs.
    #[must_use]
    pub const fn uuid(&self) -> Uuid {
        self.version.uuid
    }

    /// The version that an acquire claims with it: ground (c) of `prev`.
    pub(crate) const fn version(&self) -> Version {
        self.version
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            version: Version { uuid, renewals },
            closes_for,
        } = self;
        write!(f, "{TAG}:{uuid}:{renewals}:{closes_for}:")?;
        for byte in name.as_str().bytes() {
            if is_plain(byte) {
                write!(f, "{}", char::from(byte))?;
            } else {
                write!(f, "%{byte:02X}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ticket({self})")
    }
}

impl FromStr for Ticket {
    type Err = ParseTicketError;

    fn from_str(text: &str) -> Result<Self, ParseTicketError> {
        let mut parts = text.splitn(5, ':');
        let mut part = |reason| parts.next().ok_or(ParseTicketError { reason });
        if part("it is empty")? != TAG {
            let reason = "it does not begin with \"dlock-ticket-1:\"";
            return Err(ParseTicketError { reason });
        }
        let reason = "its term is not a uuid";
        let uuid = Uuid::try_parse(part(reason)?).map_err(|_| ParseTicketError { reason })?;
        let reason = "its number is not one of a renewal";
        let renewals = part(reason)?
            .parse()
            .map_err(|_| ParseTicketError { reason })?;
        if renewals >= RENEWALS_END {
            return Err(ParseTicketError { reason });
        }
        let reason = "its closing is not one of at most 24 h";
        let closes_for = part(reason)?
            .parse()
            .map_err(|_| ParseTicketError { reason })?;
        if Duration::from_millis(closes_for) > Record::LONGEST {
            return Err(ParseTicketError { reason });
        }
        let reason = "its name is not one of a lock";
        let name = plain(part(reason)?).ok_or(ParseTicketError { reason })?;
        let name = Name::new(name).map_err(|_| ParseTicketError { reason })?;
        let ticket = Self {
            name,
            version: Version { uuid, renewals },
            closes_for,
        };
        // One text per ticket: a text that was cut, padded or spelled otherwise was not written here.
        if ticket.to_string() == text {
            Ok(ticket)
        } else {
            let reason = "it is not spelled as tickets are";
            Err(ParseTicketError { reason })
        }
    }
}

/// Whether the byte stands for itself in a ticket.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/')
}

/// The name that was written this way.
fn plain(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut plain = Vec::new();
    while let Some(byte) = bytes.next() {
        plain.push(if byte == b'%' {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
            u8::try_from(16 * high + low).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(plain).ok()
}

#[cfg(feature = "serde")]
impl serde::Serialize for Ticket {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Ticket {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";

    fn ticket(name: &str, renewals: u64) -> Ticket {
        let uuid = Uuid::try_parse(UUID).unwrap();
        Ticket::new(Name::new(name).unwrap(), Version { uuid, renewals })
    }

    #[test]
    fn every_ticket_is_read_as_it_was_written() {
        let longest = "ü".repeat(512);
        for name in ["a", "a b:c\n%", "%41", "ünï/🦀", &longest] {
            for renewals in [0, 7, RENEWALS_END - 1] {
                let ticket = ticket(name, renewals);
                for ticket in [ticket.clone(), ticket.closing(Duration::from_micros(1500))] {
                    let text = ticket.to_string();
                    assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
                    assert_eq!(text.parse(), Ok(ticket));
                }
            }
        }
    }

    #[test]
    fn nothing_else_is_read_as_a_ticket() {
        let good = ticket("a b", 7).to_string();
        assert!(good.parse::<Ticket>().is_ok());
        let closes = good.replace(":7:0:", ":7:250:");
        let closing = Duration::from_millis(250);
        assert_eq!(closes.parse(), Ok(ticket("a b", 7).closing(closing)));
        let longest = closes.replace(":250:", ":86400000:");
        let closing = Duration::from_secs(24 * 60 * 60);
        assert_eq!(longest.parse(), Ok(ticket("a b", 7).closing(closing)));
        let spelled = [
            String::new(),
            "hello".into(),
            good.replace("ticket-1", "ticket-2"),
            good.replace(":7:0:", ":7:"),
            closes.replace(":250:", "::"),
            closes.replace(":250:", ":0250:"),
            closes.replace(":250:", ":86400001:"),
            format!(" {good}"),
            format!("{good}\n"),
            good.replace(UUID, &UUID.to_uppercase()),
            good.replace(UUID, &UUID.replace('-', "")),
            good.replace(UUID, "67e55044"),
            good.replace(":7:", ":07:"),
            good.replace(":7:", ":+7:"),
            good.replace(":7:", ":-7:"),
            good.replace(":7:", ":9007199254740992:"),
            good.replace(":7:", "::"),
            good.replace("a%20b", ""),
            good.replace("a%20b", "a b"),
            good.replace("a%20b", "%61b"),
            good.replace("a%20b", "%C3%bc"),
            good.replace("a%20b", "%C3"),
            good.replace("a%20b", "a%2"),
            good.replace("a%20b", "a%00"),
            good.replace("a%20b", "a%+1"),
            good.replace("a%20b", &"x".repeat(1025)),
        ];
        for text in spelled {
            assert!(text.parse::<Ticket>().is_err(), "{text:?} is no ticket");
        }
        // However much of its end is cut off, the rest is no ticket of this lock.
        for end in 0..good.len() {
            let cut = good[..end].parse::<Ticket>();
            assert!(cut.is_err() || cut.unwrap().name().as_str() != "a b");
        }
    }

    #[cfg(feature = "serde")]
    #[test]
    fn serde_carries_the_text_and_nothing_else() {
        use serde::{
            Deserialize, Serialize,
            de::{
                IntoDeserializer,
                value::{Error, StrDeserializer},
            },
        };

        struct Written(Ticket);

        impl fmt::Display for Written {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.serialize(f)
            }
        }

        let ticket = ticket("a b", 7);
        let text = Written(ticket.clone()).to_string();
        assert_eq!(text, ticket.to_string());
        let read = |text: &str| {
            let source: StrDeserializer<'_, Error> = text.into_deserializer();
            Ticket::deserialize(source)
        };
        assert_eq!(read(&text), Ok(ticket));
        let error = read("hello").unwrap_err().to_string();
        assert!(error.contains("dlock-ticket-1"), "{error}");
    }
}
