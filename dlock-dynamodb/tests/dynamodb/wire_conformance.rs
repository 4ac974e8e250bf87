//! The provider keeps its promises when the wire to its server breaks.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::{net::SocketAddr, time::Duration};

use dlock_dynamodb::DynamodbProvider;
use dlock_testkit::wire::Wired;

use crate::common::{client, client_of, provider_on, table_name, url};

/// The table that the cases share.
struct Table {
    name: String,
    server: SocketAddr,
}

impl Wired for Table {
    type Provider = DynamodbProvider;

    /// HTTP begins with the request.
    const HANDSHAKE: usize = 0;

    async fn start() -> Self {
        let name = table_name();
        let provider = provider_on(client().await, &name);
        provider.create_table().await.unwrap();
        let server = url().await.strip_prefix("http://").unwrap();
        Self {
            name,
            server: server.parse().unwrap(),
        }
    }

    fn server(&self) -> SocketAddr {
        self.server
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> DynamodbProvider {
        DynamodbProvider::builder()
            .client(client_of(&format!("http://{address}")))
            .table_name(&self.name)
            .attempt_timeout(limit)
            .call_timeout(limit)
            .build()
            .unwrap()
    }
}

dlock_testkit::wire_conformance!(Table);
