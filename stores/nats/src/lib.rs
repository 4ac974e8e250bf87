#![doc = include_str!("../README.md")]

mod admin;
mod bucket;
mod calls;
mod error;
pub mod fence;
mod key;
mod one_way;
mod refusals;
mod store;
mod stream;
mod watch;

use async_nats::Client;
use dlock_core::provider::InvalidPrefix;

#[doc(no_inline)]
pub use dlock_cas::CasProvider;

pub use self::{
    error::BucketError,
    refusals::Refusals,
    store::{NatsStore, Version},
};

/// Locks in a bucket of NATS. Cheap to clone; clones share one [`Client`](dlock_core::Client).
///
/// Made by [`provider`]; [`with_prefix`](CasProvider::with_prefix) makes one for other locks in the same bucket. The
/// [documentation of the crate](crate) says what it guarantees, what it costs and how it can lose a lock.
pub type NatsProvider = CasProvider<NatsStore>;

/// Locks in this bucket, in keys that start with `prefix.`. Sends nothing to the server: the first request checks the
/// bucket, and [`NatsStore::set_up`] creates it.
///
/// The prefix separates the locks of one application from those of others in the same bucket; use `"dlock"` if you have
/// no better one. Together with the name it has at most 1024 bytes.
///
/// ```no_run
/// // Needs a NATS server.
/// use dlock_core::DLock;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = async_nats::connect("nats://localhost").await?;
/// let provider = dlock_nats::provider(client, "locks", "billing")?;
/// provider.store().verify().await?;
/// let lock = DLock::builder().name("invoices").provider(provider).build()?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`InvalidPrefix`] if the text cannot be a prefix.
pub fn provider(
    client: Client,
    bucket: impl Into<String>,
    prefix: &str,
) -> Result<NatsProvider, InvalidPrefix> {
    CasProvider::new(NatsStore::new(client, bucket)).with_prefix(prefix)
}
