//! The provider keeps its promises when the wire to its server breaks.

use std::{net::SocketAddr, time::Duration};

use dlock_kubernetes::KubernetesProvider;
use dlock_testkit::wire::Wired;

use crate::unsealed::Unsealed;

struct Kubernetes(Unsealed);

impl Wired for Kubernetes {
    type Provider = KubernetesProvider;

    const HANDSHAKE: usize = 0;

    // Other tests keep the server busy.
    const LEASE: Duration = Duration::from_secs(2);

    async fn start() -> Self {
        Self(Unsealed::start().await)
    }

    fn server(&self) -> SocketAddr {
        self.0.address
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> KubernetesProvider {
        self.0.provider(address, limit).await
    }
}

dlock_testkit::wire_conformance!(Kubernetes);
