#![doc = include_str!("../README.md")]

mod error;
pub mod fence;
mod path;
mod store;
mod verify;

use std::sync::Arc;

use dlock_cas::CasProvider;
use dlock_core::provider::InvalidPrefix;
use object_store::ObjectStore;

pub use self::store::Objects;

/// Locks in a bucket. Cheap to clone; clones share one [`Client`](dlock_core::Client).
///
/// Made by [`provider`]; [`with_prefix`](CasProvider::with_prefix) makes one for other locks in the same bucket. The
/// [documentation of the crate](crate) says what it guarantees, what it costs and how it can lose a lock.
pub type ObjectProvider = CasProvider<Objects>;

/// Locks in this bucket, one object each, in the folder `prefix/`. Sends nothing to the service: call
/// [`Objects::verify`] once to find out whether its writes can carry locks at all.
///
/// The prefix separates the locks of one application from those of others, and from other objects; use `"dlock"` if you
/// have no better one. A prefix with a `/` in it is one folder, too: the `/` is written `.1`. To keep it in a folder of
/// another, wrap the store into a [`PrefixStore`](object_store::prefix::PrefixStore). Prefix and name have at most 1024
/// bytes together, and so has the key of the object, where each byte beyond ASCII takes three.
///
/// ```
/// use std::sync::Arc;
///
/// use dlock_core::DLock;
/// use object_store::{memory::InMemory, prefix::PrefixStore};
///
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// // Stands for a bucket, such as `AmazonS3Builder::from_env().with_bucket_name("acme").build()?`.
/// let bucket = InMemory::new();
/// let folder = PrefixStore::new(bucket, "locks");
/// let provider = dlock_object_store::provider(Arc::new(folder), "billing")?;
/// // The object `locks/billing/invoices`.
/// let lock = DLock::builder().name("invoices").provider(provider).build()?;
/// # Ok(()) }
/// # example().unwrap();
/// ```
///
/// # Errors
/// [`InvalidPrefix`] if the text cannot be a prefix.
pub fn provider(
    bucket: Arc<dyn ObjectStore>,
    prefix: &str,
) -> Result<ObjectProvider, InvalidPrefix> {
    CasProvider::new(Objects::new(bucket)).with_prefix(prefix)
}
