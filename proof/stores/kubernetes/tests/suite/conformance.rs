//! The provider passes the conformance suite on one server.

use std::{sync::Arc, time::Duration};

use dlock_core::provider::{Admin, Capabilities, Discipline, Durability};
use dlock_kubernetes::KubernetesProvider;
use dlock_kubernetes_proof::{PREFIX, Server};
use dlock_testkit::Fixture;

struct Kubernetes {
    server: &'static Server,
    namespace: String,
}

impl Fixture for Kubernetes {
    type Provider = KubernetesProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("kubernetes", Discipline::Observer)
        .closing(true)
        .marks(true)
        .watch(true)
        .cheap_reads(true)
        .durability(Durability::Durable);

    const LEASE: Duration = Duration::from_secs(2);
    // The name of a Lease has room for 157.
    const NAME_BYTES: usize = 157 - PREFIX.len() - "/".len();

    // A refused write does not show the record that it has lost to. Where many clients want a lock at once, one of
    // them may lose three times in a row; it then tries again.
    const UNANSWERED: u32 = 6;

    async fn start() -> Self {
        let server = Server::shared().await;
        let namespace = server.namespace().await;
        Self { server, namespace }
    }

    async fn provider(&self) -> KubernetesProvider {
        self.server.provider(&self.namespace).await
    }

    fn admin(provider: &KubernetesProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }

    async fn prefixed(&self, prefix: &str) -> Option<KubernetesProvider> {
        let provider = self.server.provider(&self.namespace).await;
        provider.with_prefix(prefix).ok()
    }
}

// Without an expiry the rule of `purge` can only be kept for released records; see `leases.rs`.
dlock_testkit::conformance!(Kubernetes, without[purge]);
