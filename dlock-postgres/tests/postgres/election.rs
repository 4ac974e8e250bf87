//! Elections on a server, through a network that breaks.

use std::{net::SocketAddr, time::Duration};

use dlock_postgres::{PostgresProvider, deadpool_postgres::tokio_postgres::NoTls};
use dlock_proof::election::Electorate;

use crate::support::{Table, pool, server};

/// Big enough for a call that hangs, and another one.
const POOL: usize = 3;

pub(crate) struct Postgres {
    table: Table,
    server: SocketAddr,
}

impl Electorate for Postgres {
    type Provider = PostgresProvider;

    async fn start() -> Self {
        Self {
            table: Table::create().await,
            server: server().await.address().await,
        }
    }

    fn server(&self) -> Option<SocketAddr> {
        Some(self.server)
    }

    async fn provider(&self, address: Option<SocketAddr>, limit: Duration) -> PostgresProvider {
        let config = server().await.at(address.unwrap_or(self.server));
        PostgresProvider::builder()
            .pool(pool(config.clone(), POOL))
            .schema(self.table.schema())
            .call_timeout(limit)
            .listen(config, NoTls)
            .build()
            .unwrap()
    }
}

dlock_proof::election_stories!(Postgres);
