//! Elections over S3.

use std::{net::SocketAddr, time::Duration};

use dlock_object_proof::{Server, provider};
use dlock_object_store::ObjectProvider;
use dlock_proof::election::Electorate;

pub(crate) struct S3(&'static Server);

impl Electorate for S3 {
    type Provider = ObjectProvider;

    async fn start() -> Self {
        Self(crate::server().await)
    }

    fn server(&self) -> Option<SocketAddr> {
        Some(self.0.address())
    }

    async fn provider(&self, address: Option<SocketAddr>, limit: Duration) -> ObjectProvider {
        provider(address.unwrap_or_else(|| self.0.address()), limit)
    }
}

dlock_proof::election_stories!(S3);
