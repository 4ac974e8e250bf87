//! Elections on a server. A wrapper of the provider delays and loses the answers, not a proxy: the server sends the
//! result of a procedure and its end one after the other, and a proxy that delays each piece of a reply delays both.

use std::{net::SocketAddr, time::Duration};

use dlock_mysql::MysqlProvider;
use dlock_mysql_proof::{Database, provider, server};
use dlock_proof::election::Electorate;

/// Big enough for a call that hangs, and one concurrent call.
const POOL: usize = 3;

pub(crate) struct Mysql(Database);

impl Electorate for Mysql {
    type Provider = MysqlProvider;

    // Other tests keep the machine busy.
    const LEASE: Duration = Duration::from_secs(3);

    async fn start() -> Self {
        let database = server().await.database().await;
        database.provider(1).await;
        Self(database)
    }

    fn server(&self) -> Option<SocketAddr> {
        None
    }

    async fn provider(&self, _: Option<SocketAddr>, limit: Duration) -> MysqlProvider {
        provider(self.0.options(POOL), limit)
    }
}

dlock_proof::election_stories!(Mysql);
