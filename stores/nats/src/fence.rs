//! Storage in NATS that refuses a stale fencing token: rule T3, in one key of a bucket.
//!
//! A resource accepts a token that is at least the highest it has seen, and remembers the highest in the same atomic
//! write. The token is a header of the message that holds the data, and a write is made only where the message that was
//! read is still the key's last one.
//!
//! ```no_run
//! // Needs a NATS server with JetStream, and a bucket "accounts".
//! use async_nats::Client;
//! use dlock_core::FencingToken;
//! use dlock_nats::fence::{Fence, FenceError};
//!
//! # async fn example(client: Client, token: FencingToken) -> Result<(), Box<dyn std::error::Error>> {
//! match Fence::new(client, "accounts").put("a-17", token, "40").await {
//!     Ok(_) => {}
//!     // A later holder has written: stop.
//!     Err(FenceError::Stale(stale)) => eprintln!("{stale}"),
//!     Err(other) => return Err(other.into()),
//! }
//! # Ok(()) }
//! ```

use std::fmt;

use async_nats::{Client, HeaderMap};
use dlock_core::{FencingToken, ProviderError};

use crate::{
    refusals::Refusals,
    stream::{Found, Stream, Written},
};

/// Why a write was not made; see [there](dlock_core::FenceError).
pub type FenceError = dlock_core::FenceError<ProviderError>;

/// The header of a message that remembers the highest token.
pub const TOKEN: &str = "Dlock-Token";

/// How many other writers may come before one. Those with a later token make this one stale, and those with the same
/// are its own.
const ROUNDS: usize = 32;

/// A bucket of yours whose keys are written only through this: another writer's message has no token.
pub struct Fence {
    stream: Stream,
}

impl Fence {
    /// The bucket of this name, which has to exist. One with a TTL forgets a token with its key. Sends nothing.
    #[must_use]
    pub fn new(client: Client, bucket: impl Into<String>) -> Self {
        Self {
            stream: Stream::new(client, bucket.into(), Refusals::default()),
        }
    }

    /// Writes a key, if the token is not stale for it, and remembers the token. Returns the key's new revision. Two
    /// requests, and two more for each other writer that comes before.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has written; then nothing changed, and the writer should stop.
    /// [`FenceError::Foreign`] if the key was written without a token, and [`FenceError::NoPlace`] if the text is no key:
    /// nothing changed either. [`FenceError::Store`] for every other reason: the write may have been made.
    ///
    /// # Cancel safety
    /// The write may have been made.
    pub async fn put(
        &self,
        key: &str,
        token: FencingToken,
        bytes: impl Into<Vec<u8>> + Send,
    ) -> Result<u64, FenceError> {
        if !is_key(key) {
            return Err(FenceError::NoPlace {
                resource: key.to_owned(),
                reason: "a key is letters, digits, - _ / = and dots between them",
            });
        }
        let bytes = bytes.into();
        let subject = self.stream.subject(key);
        let mut headers = HeaderMap::new();
        headers.insert(TOKEN, token.to_string());
        for _ in 0..ROUNDS {
            let last = match self.stream.last(&subject).await? {
                Some(found) if !accepts(&found, token) => {
                    return Err(FenceError::refused(token, remembered(&found), || {
                        format!("the header {TOKEN} of the key {key:?}")
                    }));
                }
                found => found.map_or(0, |found| found.sequence),
            };
            let write = self
                .stream
                .write(&subject, headers.clone(), bytes.clone(), last);
            if let Written::At(sequence) = write.await? {
                return Ok(sequence);
            }
        }
        Err(
            ProviderError::not_applied("others wrote the key each time before it could be written")
                .into(),
        )
    }
}

// Without the client, which may know passwords.
impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence")
            .field("bucket", &self.stream.bucket)
            .finish_non_exhaustive()
    }
}

/// The message of a deletion has no token, and nothing to protect.
fn accepts(found: &Found, token: FencingToken) -> bool {
    found.bytes.is_none() || remembered(found).is_some_and(|highest| highest <= token)
}

fn remembered(found: &Found) -> Option<FencingToken> {
    let text = found.headers.get(TOKEN)?.as_str();
    let token = FencingToken::new(text.parse().ok()?)?;
    // Only in the form in which it was written, of all forms of a number.
    (token.to_string() == text).then_some(token)
}

/// As the tools of NATS take a key.
fn is_key(text: &str) -> bool {
    let is_known = |letter: char| letter.is_ascii_alphanumeric() || "-_/=".contains(letter);
    text.split('.')
        .all(|token| !token.is_empty() && token.chars().all(is_known))
}
