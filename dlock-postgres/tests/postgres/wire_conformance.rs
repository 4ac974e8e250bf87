//! The provider keeps its promises when the wire to its server breaks. It listens for wake-ups on a wire that does not
//! break: `channel.rs` has the cases of the channel itself.

use std::{net::SocketAddr, time::Duration};

use dlock_postgres::{PostgresProvider, deadpool_postgres::tokio_postgres::NoTls};
use dlock_testkit::{proxy::Protocol, wire::Wired};

use crate::support::{Table, pool, server};

/// Big enough for a call that meets an open connection and one that needs another.
const POOL: usize = 3;

struct Postgres {
    table: Table,
    server: SocketAddr,
}

impl Wired for Postgres {
    type Provider = PostgresProvider;

    /// A server before version 14 cannot watch for its clients, so each call is a transaction.
    const PROTOCOL: Protocol = Protocol::PostgresFlights;

    /// The session begins.
    const HANDSHAKE: usize = 1;

    /// A call without an answer costs a new connection, for which the server starts a process: a lease of a second
    /// would leave too little of that to the third attempt on a busy machine.
    const LEASE: Duration = Duration::from_millis(1500);

    async fn start() -> Self {
        Self {
            table: Table::create().await,
            server: server().await.address().await,
        }
    }

    fn server(&self) -> SocketAddr {
        self.server
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> PostgresProvider {
        let config = server().await.at(address);
        PostgresProvider::builder()
            .pool(pool(config, POOL))
            .schema(self.table.schema())
            .call_timeout(limit)
            // A call that carries its preparation has two answers, and the cases cut one; within a transaction it waits
            // for the first, which the proxy withholds.
            .prepared(false)
            .listen(server().await.config(), NoTls)
            .build()
            .unwrap()
    }
}

dlock_testkit::wire_conformance!(Postgres);
