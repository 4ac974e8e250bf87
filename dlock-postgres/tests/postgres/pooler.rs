//! The provider passes the conformance suite through PgBouncer in transaction mode: 16 clients share
//! two connections to the server, so every call may meet another session. What listens for wake-ups
//! goes to the server itself.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name,
    provider::{Admin, Capabilities, Discipline},
};
use dlock_postgres::{PostgresProvider, deadpool_postgres::Pool};
use dlock_test_servers::{Service, postgres::pgbouncer};
use dlock_testkit::Fixture;

use crate::support::{Server, Table, local, pool};

struct Pooled {
    table: Table,
    clients: Pool,
    server: Server,
    _pooler: Service,
}

impl Fixture for Pooled {
    type Provider = PostgresProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("postgres", Discipline::StoreClock)
        .closing(true)
        .watch(true)
        .batch(true);

    const BLOCKS: bool = true;
    // Other tests keep the machine busy.
    const UNANSWERED: u32 = 2;

    async fn start() -> Self {
        let server = Server::start(&[]).await;
        let pooler = pgbouncer(server.port(), 2)
            .await
            .unwrap_or_else(|error| panic!("no pooler: {error}"));
        let clients = pool(local(pooler.place().port()), 16);
        Self {
            table: Table::create_over(clients.clone()).await,
            clients,
            server,
            _pooler: pooler,
        }
    }

    async fn provider(&self) -> PostgresProvider {
        self.table
            .listening(self.clients.clone(), self.server.config())
    }

    fn admin(provider: &PostgresProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }

    async fn prefixed(&self, prefix: &str) -> Option<PostgresProvider> {
        self.provider().await.with_prefix(prefix).ok()
    }

    async fn age(&self, name: &Name, by: Duration) -> bool {
        self.table.age(name, by).await
    }
}

dlock_testkit::conformance!(Pooled);
