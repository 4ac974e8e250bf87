//! The provider keeps its promises when the wire to its server breaks.

use std::{net::SocketAddr, time::Duration};

use dlock_object_proof::{Server, provider};
use dlock_object_store::ObjectProvider;
use dlock_testkit::wire::Wired;

struct S3(&'static Server);

impl Wired for S3 {
    type Provider = ObjectProvider;

    /// HTTP begins with the request.
    const HANDSHAKE: usize = 0;

    const LEASE: Duration = Duration::from_secs(2);

    async fn start() -> Self {
        Self(crate::server().await)
    }

    fn server(&self) -> SocketAddr {
        self.0.address()
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> ObjectProvider {
        provider(address, limit)
    }
}

dlock_testkit::wire_conformance!(S3);
