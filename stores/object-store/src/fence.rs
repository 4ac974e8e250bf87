//! Objects that refuse a stale fencing token: rule T3, inside the conditional put that replaces the object.
//!
//! A resource accepts a token that is at least the highest it has seen, and remembers the highest in the same atomic
//! write. The token is in the object itself, in a line of 64 bytes before yours:
//!
//! ```text
//! dlock-fence/1 1795390114370226 67e5504410b1426f9247bb680e5fe0c8
//! ```
//!
//! That is the token in 16 digits, and 32 hexadecimal digits that are drawn for each write. S3 names the version of an
//! object by a hash of its contents. Were the token kept outside of the contents, an older one could replace the write
//! of a later one, if that is equal to the contents before it; and without the drawn digits a put that the network has
//! delayed could replace a later write of the same holder.
//!
//! ```no_run
//! // Needs a bucket.
//! use std::sync::Arc;
//!
//! use dlock_core::FencingToken;
//! use dlock_object_store::{Objects, fence::{self, Fence, FenceError}};
//! use object_store::{ObjectStore, ObjectStoreExt, path::Path};
//!
//! # async fn example(bucket: Arc<dyn ObjectStore>, token: FencingToken) -> Result<(), Box<dyn std::error::Error>> {
//! let fence = Fence::new(Objects::new(Arc::clone(&bucket)).sent_once());
//! let path = Path::from("accounts/a-17");
//! match fence.put(&path, token, "40").await {
//!     Ok(()) => {}
//!     // A later holder has written: stop.
//!     Err(FenceError::Stale(stale)) => eprintln!("{stale}"),
//!     Err(other) => return Err(other.into()),
//! }
//!
//! let object = bucket.get(&path).await?.bytes().await?;
//! let (_token, balance) = fence::split(&object).ok_or("not written through a fence")?;
//! # drop(balance); Ok(()) }
//! ```
//!
//! It protects an object from late writers that put through a fence, on a service whose conditional puts are atomic
//! ([`Objects::verify`]). A put, a copy or a deletion in any other way is not stopped, and a deleted object forgets its
//! token: put an empty one instead. Readers strip the line, with [`split`] or `tail -n +2`.

use std::{fmt, iter};

use dlock_cas::{CasStore, Put};
use dlock_core::{FencingToken, ProviderError};
use object_store::{PutPayload, path::Path};
use uuid::Uuid;

use crate::Objects;

/// Why a write was not made; see [there](dlock_core::FenceError).
pub type FenceError = dlock_core::FenceError<ProviderError>;

/// How many bytes come before those of the writer.
const HEADER: usize = 64;

/// How many other writers may come before one. Those with a later token make this one stale, and those with the same are
/// its own.
const ROUNDS: usize = 32;

/// Objects of yours that are written only through this. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Fence {
    objects: Objects,
}

impl Fence {
    /// The objects of this bucket. Sends nothing to the service.
    #[must_use]
    pub const fn new(objects: Objects) -> Self {
        Self { objects }
    }

    /// Writes an object, or creates it, if the token is not stale for it, and remembers the token. One GET, of which it
    /// reads the first 64 KiB, and one PUT; both once more for each other writer that comes before.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has written; then nothing changed, and the writer should stop.
    /// [`FenceError::Foreign`] if the object was not written through a fence; then nothing changed either. To keep its
    /// contents, put them under another path. [`FenceError::Store`] for every other reason.
    ///
    /// If its kind is [`Unknown`](dlock_core::ErrorKind::Unknown), the write may have been made, or may be made yet, as
    /// long as no other writer writes the object. Write again with the same token. A write of a later holder meanwhile
    /// makes the token stale; a write of the same holder is replaced. Once the second write is confirmed, the first one
    /// can do nothing any more.
    ///
    /// # Cancel safety
    /// As after [`Unknown`](dlock_core::ErrorKind::Unknown).
    pub async fn put(
        &self,
        path: &Path,
        token: FencingToken,
        bytes: impl Into<PutPayload> + Send,
    ) -> Result<(), FenceError> {
        let header = Header {
            token,
            write: Uuid::new_v4(),
        };
        let bytes = bytes.into();
        let object: PutPayload = iter::once(header.to_string().into()).chain(bytes).collect();
        let mut refused = false;
        for _ in 0..ROUNDS {
            match self.write(path, token, &object).await {
                Ok(true) => return Ok(()),
                Ok(false) => refused = true,
                // A client that repeats requests may have been refused by its own write.
                Err(error) if refused && self.objects.repeats_puts() => {
                    let doubt = "a write was refused, and may have been made before that";
                    return Err(ProviderError::unknown(doubt).with_source(error).into());
                }
                Err(error) => return Err(error),
            }
        }
        let unknown = "others wrote the object each time before it could be written";
        Err(ProviderError::unknown(unknown).into())
    }

    /// Reads the object, and writes it if it is unchanged; returns whether it was.
    async fn write(
        &self,
        path: &Path,
        token: FencingToken,
        object: &PutPayload,
    ) -> Result<bool, FenceError> {
        let found = self.objects.find(path).await?;
        if let Some(found) = &found {
            match Header::of(&found.bytes) {
                Some(seen) if seen.token <= token => {}
                seen => {
                    let place = || format!("the beginning of the object {:?}", path.as_ref());
                    let highest = seen.map(|seen| seen.token);
                    return Err(FenceError::refused(token, highest, place));
                }
            }
        }
        let expected = found.as_ref().map(|found| &found.version);
        let put = self.objects.write(path, object.clone(), expected).await?;
        Ok(matches!(put, Put::Done(_)))
    }
}

/// The token of a whole object, and the bytes of its writer; `None` if it was not written through a fence.
#[must_use]
pub fn split(object: &[u8]) -> Option<(FencingToken, &[u8])> {
    let header = Header::of(object)?;
    Some((header.token, object.get(HEADER..)?))
}

/// The start of an object.
struct Header {
    token: FencingToken,
    /// Drawn for this write alone.
    write: Uuid,
}

impl Header {
    fn of(object: &[u8]) -> Option<Self> {
        let text = str::from_utf8(object.get(..HEADER)?).ok()?;
        let mut words = text.split_ascii_whitespace().skip(1);
        let header = Self {
            token: FencingToken::new(words.next()?.parse().ok()?)?,
            write: words.next()?.parse().ok()?,
        };
        // Only in the form in which it was written, of all possible forms.
        (header.to_string() == text).then_some(header)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The highest token has as many digits.
        writeln!(
            f,
            "dlock-fence/1 {:016} {}",
            self.token.get(),
            self.write.simple()
        )
    }
}
