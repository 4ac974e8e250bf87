//! A namespace of the shared server, in front of which a proxy without TLS can be placed.

use std::{net::SocketAddr, time::Duration};

use dlock_kubernetes::KubernetesProvider;
use dlock_kubernetes_proof::{ADMIN, Server, client, kubeconfig, plain, provider};

pub(crate) struct Unsealed {
    server: &'static Server,
    namespace: String,
    /// The address at which the server speaks plain HTTP.
    pub(crate) address: SocketAddr,
}

impl Unsealed {
    pub(crate) async fn start() -> Self {
        let server = Server::shared().await;
        Self {
            server,
            namespace: server.namespace().await,
            address: plain(server).await.unwrap(),
        }
    }

    /// A provider that reaches the server through this address, and whose calls end within this limit.
    pub(crate) async fn provider(&self, at: SocketAddr, limit: Duration) -> KubernetesProvider {
        let url = format!("http://{at}");
        let kubeconfig = kubeconfig(&url, &self.server.certificates(), ADMIN);
        provider(client(&kubeconfig, limit).await, &self.namespace)
    }
}
