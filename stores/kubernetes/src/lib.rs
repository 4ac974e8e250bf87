#![doc = include_str!("../README.md")]

mod error;
pub mod fence;
mod lease;
mod name;
mod store;

use dlock_cas::CasProvider;
use dlock_core::provider::InvalidPrefix;
use kube::Client;

pub use self::{lease::Version, store::KubernetesStore};

/// Locks in Kubernetes. Cheap to clone; clones share one [`Client`](dlock_core::Client).
///
/// Made by [`provider`]; [`with_prefix`](CasProvider::with_prefix) makes one for other locks in the same namespace. The
/// [documentation of the crate](crate) says what it guarantees, what it costs and how it can lose a lock.
pub type KubernetesProvider = CasProvider<KubernetesStore>;

/// Locks in the Leases of this namespace. Sends nothing to the server.
///
/// The prefix separates the locks of one application from those of others in the namespace; it may be empty. Its `/`
/// and `%` are written `%2F` and `%25`. Together with the name of the lock it has at most 156 bytes, as a Lease's name
/// has room for no more: locks with longer names are refused.
///
/// ```no_run
/// // Needs a Kubernetes.
/// use dlock_core::DLock;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = kube::Config::infer().await?;
/// config.default_retry = false;
/// let namespace = config.default_namespace.clone();
/// let client = kube::Client::try_from(config)?;
/// let provider = dlock_kubernetes::provider(client, &namespace, "billing")?;
/// let lock = DLock::builder().name("invoices").provider(provider).build()?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`InvalidPrefix`] if the text cannot be a prefix.
pub fn provider(
    client: Client,
    namespace: &str,
    prefix: &str,
) -> Result<KubernetesProvider, InvalidPrefix> {
    CasProvider::new(KubernetesStore::new(client, namespace)).with_prefix(prefix)
}
