//! Which client may do what, and where.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    hash::Hash,
    num::{NonZeroU8, NonZeroU32},
    sync::Arc,
};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::{names::Namespace, share::Usage};

/// A client's right in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Right {
    /// Read leases and tasks.
    Read,
    /// Have leases, read single ones, wait for them, and ask their holders for them.
    Hold,
    /// Enqueue tasks.
    Enqueue,
    /// Claim tasks and end them.
    Work,
    /// Take leases away, cancel and retry tasks.
    Admin,
    /// Read the server's metrics; counts only as a right to `*`.
    Metrics,
}

/// Which client may do what, and where. Of tokens only the SHA-256 is known.
#[derive(Debug, Default)]
pub struct Rights {
    tokens: HashMap<[u8; 32], Arc<Holder>>,
    certificates: HashMap<String, Arc<Holder>>,
}

/// A client with rights.
#[derive(Debug)]
pub(crate) struct Holder {
    /// For the log.
    pub(crate) name: String,
    rights: BTreeMap<String, BTreeSet<Right>>,
    limits: OwnLimits,
    /// Its usage of the server, which survives a reload of the file.
    pub(crate) usage: Arc<Usage>,
}

/// The limits of an entry that replace the server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
struct OwnLimits {
    rate: Option<NonZeroU32>,
    share: Option<NonZeroU8>,
}

/// A file of rights that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRights {
    /// It does not have the form of such a file.
    #[error("the file of rights cannot be read: line {line}{why}")]
    Toml {
        /// The line, from 1.
        line: usize,
        /// The error, as far as it can be described without the text itself, which may be a token.
        why: String,
    },
    /// A hash is invalid.
    #[error(
        "the sha256 of token {name:?} is not 64 hexadecimal digits: printf %s \"$TOKEN\" | sha256sum prints them"
    )]
    Hash {
        /// The token's name.
        name: String,
    },
    /// A namespace is invalid.
    #[error(
        "{namespace:?} is not a namespace: a namespace has 1 to 63 of a-z, 0-9 and -, and * stands for all of them"
    )]
    Namespace {
        /// The text in its place.
        namespace: String,
    },
    /// A share is invalid.
    #[error("the share of {name:?} is more than 100 percent")]
    Share {
        /// The entry's name.
        name: String,
    },
    /// It has no entry, like a file that is just being written.
    #[error("the file of rights has no entry: with none, no client could do anything")]
    Empty,
    /// Two entries have the same token or certificate.
    #[error("{name:?} has the same token or certificate as an entry before it")]
    Twice {
        /// The second one.
        name: String,
    },
}

impl InvalidRights {
    fn of_toml(text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or_default();
        let names_fields = ["unknown field", "missing field"];
        let message = error.message();
        let harmless = names_fields.iter().any(|start| message.starts_with(start));
        Self::Toml {
            line: before.matches('\n').count() + 1,
            why: if harmless {
                format!(": {message}")
            } else {
                String::new()
            },
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    token: Vec<Entry>,
    #[serde(default)]
    certificate: Vec<Certificate>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    sha256: String,
    rights: BTreeMap<String, BTreeSet<Right>>,
    rate: Option<NonZeroU32>,
    share: Option<NonZeroU8>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Certificate {
    name: String,
    rights: BTreeMap<String, BTreeSet<Right>>,
    rate: Option<NonZeroU32>,
    share: Option<NonZeroU8>,
}

impl Right {
    /// All of them.
    pub(crate) const ALL: [Self; 6] = [
        Self::Read,
        Self::Hold,
        Self::Enqueue,
        Self::Work,
        Self::Admin,
        Self::Metrics,
    ];
}

impl Rights {
    /// Reads rights as TOML:
    ///
    /// ```toml
    /// [[token]]
    /// name = "billing"             # for the log
    /// sha256 = "9f86d081884c7d65.."  # of the token: printf %s "$TOKEN" | sha256sum
    /// rights = { "billing" = ["hold", "read"], "*" = ["read"] }
    /// rate = 100                   # requests in a second, if not as all others
    /// share = 20                   # of the server's places and memory, in percent
    ///
    /// [[certificate]]
    /// name = "worker.example.com"  # a subject alternative name
    /// rights = { "images" = ["work"] }
    /// ```
    ///
    /// # Errors
    /// [`InvalidRights`] with what to correct. It repeats no token.
    pub fn parse(text: &str) -> Result<Self, InvalidRights> {
        let File { token, certificate } =
            toml::from_str(text).map_err(|error| InvalidRights::of_toml(text, &error))?;
        if token.is_empty() && certificate.is_empty() {
            return Err(InvalidRights::Empty);
        }
        let mut all = Self::default();
        for Entry {
            name,
            sha256,
            rights,
            rate,
            share,
        } in token
        {
            let Some(hash) = hash(&sha256) else {
                return Err(InvalidRights::Hash { name });
            };
            let holder = Holder::new(name.clone(), rights, OwnLimits { rate, share })?;
            if all.tokens.insert(hash, holder).is_some() {
                return Err(InvalidRights::Twice { name });
            }
        }
        for Certificate {
            name,
            rights,
            rate,
            share,
        } in certificate
        {
            let holder = Holder::new(name.clone(), rights, OwnLimits { rate, share })?;
            // Host names are case-insensitive (RFC 4343); a URI has a colon, and they have none.
            let named = match name.contains(':') {
                true => name.clone(),
                false => name.to_ascii_lowercase(),
            };
            if all.certificates.insert(named, holder).is_some() {
                return Err(InvalidRights::Twice { name });
            }
        }
        Ok(all)
    }

    /// The percentage of a server that this client may have; `share`, unless its entry sets one. A client that is the
    /// only one has all.
    pub(crate) fn share(&self, holder: &Holder, share: u8) -> u8 {
        let is_alone = self.tokens.len() + self.certificates.len() <= 1;
        holder.share().unwrap_or(if is_alone { 100 } else { share })
    }

    /// Clients that were known before keep their usage: they have requests in flight. One with another share or rate
    /// begins anew.
    pub(crate) fn succeed(&mut self, before: &Self) {
        keep(&mut self.tokens, &before.tokens);
        keep(&mut self.certificates, &before.certificates);
    }

    /// The client with this token.
    pub(crate) fn of_token(&self, token: &str) -> Option<&Arc<Holder>> {
        let hash: [u8; 32] = Sha256::digest(token).into();
        self.tokens.get(&hash)
    }

    /// The client with a certificate that has one of these names.
    pub(crate) fn of_certificate(&self, names: &[String]) -> Option<&Arc<Holder>> {
        names.iter().find_map(|name| self.certificates.get(name))
    }
}

impl Holder {
    fn new(
        name: String,
        rights: BTreeMap<String, BTreeSet<Right>>,
        limits: OwnLimits,
    ) -> Result<Arc<Self>, InvalidRights> {
        if limits.share.is_some_and(|share| share.get() > 100) {
            return Err(InvalidRights::Share { name });
        }
        let wrong = rights
            .keys()
            .find(|namespace| *namespace != EVERYWHERE && Namespace::new(namespace).is_none());
        if let Some(namespace) = wrong.cloned() {
            return Err(InvalidRights::Namespace { namespace });
        }
        Ok(Arc::new(Self {
            name,
            rights,
            limits,
            usage: Arc::new(Usage::new()),
        }))
    }

    /// Whether the client has one of these rights in this namespace, or everywhere.
    pub(crate) fn may(&self, any: &[Right], namespace: Option<&Namespace>) -> bool {
        let places = [namespace.map(Namespace::as_str), Some(EVERYWHERE)];
        let mut rights = places
            .into_iter()
            .flatten()
            .filter_map(|place| self.rights.get(place));
        rights.any(|rights| any.iter().any(|right| rights.contains(right)))
    }

    /// All rights of the client, by namespace.
    pub(crate) const fn rights(&self) -> &BTreeMap<String, BTreeSet<Right>> {
        &self.rights
    }

    /// Counts one more request. `rate`: how many there may be per second, unless the entry sets it.
    ///
    /// # Errors
    /// The permitted number, if this request is one too many.
    pub(crate) fn pace(&self, rate: Option<u32>) -> Result<(), u32> {
        let Some(rate) = self.limits.rate.map(NonZeroU32::get).or(rate) else {
            return Ok(());
        };
        if self.usage.admits(rate) {
            Ok(())
        } else {
            Err(rate)
        }
    }

    /// The percentage of the server that its entry sets.
    pub(crate) fn share(&self) -> Option<u8> {
        self.limits.share.map(NonZeroU8::get)
    }
}

fn keep<K: Eq + Hash>(after: &mut HashMap<K, Arc<Holder>>, before: &HashMap<K, Arc<Holder>>) {
    for (key, holder) in after {
        let before = before.get(key);
        let before = before.filter(|before| before.limits == holder.limits);
        // It is shared only from here on.
        if let (Some(before), Some(holder)) = (before, Arc::get_mut(holder)) {
            holder.usage = Arc::clone(&before.usage);
        }
    }
}

/// The namespace that stands for all.
pub(crate) const EVERYWHERE: &str = "*";

fn hash(hex: &str) -> Option<[u8; 32]> {
    let digits = hex.as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(hash)
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Hold => "hold",
            Self::Enqueue => "enqueue",
            Self::Work => "work",
            Self::Admin => "admin",
            Self::Metrics => "metrics",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // printf %s secret | sha256sum
    const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

    #[test]
    fn right_counts_in_its_namespace_and_a_star_in_all() {
        let file = format!(
            "[[token]]\nname = \"ci\"\nsha256 = \"{SECRET}\"\nrights = {{ a = [\"hold\"], \"*\" = [\"read\"] }}"
        );
        let rights = Rights::parse(&file).unwrap();
        let holder = rights.of_token("secret").unwrap();
        let (a, b) = (Namespace::new("a"), Namespace::new("b"));
        assert!(holder.may(&[Right::Hold], a.as_ref()));
        assert!(!holder.may(&[Right::Hold], b.as_ref()));
        assert!(holder.may(&[Right::Hold, Right::Read], b.as_ref()));
        assert!(!holder.may(&[Right::Admin], a.as_ref()));
        assert!(holder.may(&[Right::Read], None) && !holder.may(&[Right::Hold], None));
        assert!(rights.of_token("Secret").is_none() && rights.of_token("").is_none());
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_without_its_tokens() {
        let entry = |sha256: &str, namespace: &str| {
            format!(
                "[[token]]\nname = \"ci\"\nsha256 = \"{sha256}\"\nrights = {{ \"{namespace}\" = [\"hold\"] }}\n"
            )
        };
        for (file, said) in [
            (entry("secret", "a"), "sha256sum"),
            (
                "[[token]]\nname = 1\ntoken = \"secret\"".to_owned(),
                "line 2",
            ),
            (entry(SECRET, "A"), "is not a namespace"),
            (entry(SECRET, "a").repeat(2), "same token"),
            (entry(SECRET, "a") + "more = 1", "line 5: unknown field"),
        ] {
            let error = Rights::parse(&file).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
