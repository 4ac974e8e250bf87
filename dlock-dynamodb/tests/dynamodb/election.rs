//! Elections on a table, through a network that breaks. There are no wake-ups here: no clock and no
//! channel of the store helps.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::{net::SocketAddr, time::Duration};

use dlock_dynamodb::DynamodbProvider;
use dlock_proof::election::Electorate;

use crate::common::{client, client_of, provider_on, table_name, url};

pub(crate) struct Table {
    name: String,
    server: SocketAddr,
}

impl Electorate for Table {
    type Provider = DynamodbProvider;

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

    fn server(&self) -> Option<SocketAddr> {
        Some(self.server)
    }

    async fn provider(&self, address: Option<SocketAddr>, limit: Duration) -> DynamodbProvider {
        let address = address.unwrap_or(self.server);
        DynamodbProvider::builder()
            .client(client_of(&format!("http://{address}")))
            .table_name(&self.name)
            .attempt_timeout(limit)
            .call_timeout(limit)
            .build()
            .unwrap()
    }
}

dlock_proof::election_stories!(Table);
