//! The provider passes the conformance suite through PgBouncer in transaction mode: 16 clients share two connections to
//! the server, so every call may meet another session. The listening connection goes to the server itself.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name, Provider,
    provider::{AcquireOutcome, Admin, Capabilities, Discipline, Release},
};
use dlock_postgres::{PostgresProvider, deadpool_postgres::Pool};
use dlock_test_servers::{Service, postgres::pgbouncer};
use dlock_testkit::Fixture;

use crate::support::{Server, Table, local, name, on, pool, term, until};

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
        .marks(true)
        .watch(true)
        .batch(true);

    const BLOCKS: bool = true;

    const FUTURE_BYTES: usize = 4608;
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

/// PgBouncer 1.18 hands a session on if its client disconnects after an answer, even if another answer is to come,
/// which the next client then gets. So a new connection has only one query in flight.
#[tokio::test]
async fn answer_that_nobody_waits_for_any_more_goes_to_nobody_else() {
    let server = Server::start(&[]).await;
    let pooler = pgbouncer(server.port(), 1).await.unwrap();
    let through = || pool(local(pooler.place().port()), 1);
    let table = Table::create_over(server.pool(1)).await;
    let held = term("held");
    let granted = table.provider(server.pool(1)).acquire(&held).await;
    assert!(matches!(granted, Ok(AcquireOutcome::Acquired(_))));
    server.wait_for_rows(table.schema()).await;
    let locker = server.client().await;
    locker.batch_execute("BEGIN").await.unwrap();
    let lock = format!("SELECT FROM \"{}\".lock FOR UPDATE", table.schema());
    locker.batch_execute(&lock).await.unwrap();

    // The first call over its connection, which is closed with it.
    let gone = on(through(), table.schema());
    let release = Release::new(held.name.clone(), held.new, None);
    let waits = tokio::spawn(async move { gone.release(&release).await });
    until("the row is waited for", async || {
        !server.blocked(table.schema()).await.is_empty()
    })
    .await;
    waits.abort();

    // In that session it would wait behind the other call for the row, and then get the other's answer.
    let next = on(through(), table.schema());
    assert_eq!(next.read(&name("other")).await.unwrap(), None);
    locker.batch_execute("ROLLBACK").await.unwrap();
}
