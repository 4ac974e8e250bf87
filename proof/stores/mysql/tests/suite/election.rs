//! Elections on a server, through a network that breaks.

use std::{net::SocketAddr, time::Duration};

use dlock_mysql::MysqlProvider;
use dlock_mysql_proof::{Database, provider, server};
use dlock_proof::election::Electorate;

/// Big enough for a call that hangs, and one beside it.
const POOL: usize = 3;

pub(crate) struct Mysql(Database);

impl Electorate for Mysql {
    type Provider = MysqlProvider;

    async fn start() -> Self {
        let database = server().await.database().await;
        database.provider(1).await;
        Self(database)
    }

    fn server(&self) -> Option<SocketAddr> {
        Some(self.0.address)
    }

    async fn provider(&self, address: Option<SocketAddr>, limit: Duration) -> MysqlProvider {
        let address = address.unwrap_or(self.0.address);
        provider(self.0.through(address, POOL), limit)
    }
}

dlock_proof::election_stories!(Mysql);
