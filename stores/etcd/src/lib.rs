#![doc = include_str!("../README.md")]

mod calls;
mod error;
pub mod fence;
mod logins;
mod store;
mod watch;

use dlock_cas::CasProvider;
use dlock_core::provider::InvalidPrefix;
use etcd_client::Client;

pub use self::store::EtcdStore;

/// Locks in etcd. Cheap to clone; clones share one [`Client`](dlock_core::Client).
///
/// Made by [`provider`]; [`with_prefix`](CasProvider::with_prefix) makes one for other locks in the same etcd. The
/// [documentation of the crate](crate) says what it guarantees, what it costs and how it can lose a lock.
pub type EtcdProvider = CasProvider<EtcdStore>;

/// Locks in the etcd of this client, in keys that start with `prefix/`. Sends nothing to the server.
///
/// The prefix separates the locks of one application from those of others, and from other keys; use `"dlock"` if you
/// have no better one. Its `/` and `%` are written `%2F` and `%25`. Together with the name it has at most 1024 bytes.
///
/// ```no_run
/// // Needs an etcd.
/// use dlock_core::DLock;
/// use etcd_client::{Client, ConnectOptions};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect(["http://localhost:2379"], None).await?;
/// let provider = dlock_etcd::provider(client, "billing")?;
/// let lock = DLock::builder().name("invoices").provider(provider).build()?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`InvalidPrefix`] if the text cannot be a prefix.
pub fn provider(client: Client, prefix: &str) -> Result<EtcdProvider, InvalidPrefix> {
    CasProvider::new(EtcdStore::new(client)).with_prefix(prefix)
}
