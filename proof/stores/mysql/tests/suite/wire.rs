//! The provider keeps its promises when the wire to its server breaks.

use std::{net::SocketAddr, time::Duration};

use dlock_mysql::MysqlProvider;
use dlock_mysql_proof::{Database, provider, server};
use dlock_testkit::wire::Wired;

/// Big enough for a call that meets an open connection and one that needs another.
const POOL: usize = 3;

struct Mysql(Database);

impl Wired for Mysql {
    type Provider = MysqlProvider;

    /// The user logs in.
    const HANDSHAKE: usize = 1;

    /// A call without an answer costs a new connection, and on a busy machine a lease of 1.5 s leaves an attempt too
    /// little time for that.
    const LEASE: Duration = Duration::from_secs(3);

    async fn start() -> Self {
        let database = server().await.database().await;
        database.provider(1).await;
        Self(database)
    }

    fn server(&self) -> SocketAddr {
        self.0.address
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> MysqlProvider {
        provider(self.0.through(address, POOL), limit)
    }
}

dlock_testkit::wire_conformance!(Mysql);
