//! Elections on a server.

use std::{net::SocketAddr, time::Duration};

use dlock_kubernetes::KubernetesProvider;
use dlock_proof::election::Electorate;

use crate::unsealed::Unsealed;

pub(crate) struct Kubernetes(Unsealed);

impl Electorate for Kubernetes {
    type Provider = KubernetesProvider;

    // Other tests keep the server busy.
    const LEASE: Duration = Duration::from_secs(5);

    async fn start() -> Self {
        Self(Unsealed::start().await)
    }

    fn server(&self) -> Option<SocketAddr> {
        Some(self.0.address)
    }

    async fn provider(&self, address: Option<SocketAddr>, limit: Duration) -> KubernetesProvider {
        let address = address.unwrap_or(self.0.address);
        self.0.provider(address, limit).await
    }
}

dlock_proof::election_stories!(Kubernetes);
