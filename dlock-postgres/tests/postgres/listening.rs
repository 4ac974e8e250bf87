//! The provider passes the conformance suite with wake-ups and with prepared statements.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name,
    provider::{Admin, Capabilities, Discipline},
};
use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::{Pool, tokio_postgres::NoTls},
};
use dlock_testkit::Fixture;

use crate::support::{Table, server};

struct Listening(Table, Pool);

impl Fixture for Listening {
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
        Self(Table::create().await, server().await.pool(64))
    }

    async fn provider(&self) -> PostgresProvider {
        PostgresProvider::builder()
            .pool(self.1.clone())
            .schema(self.0.schema())
            .listen(server().await.config(), NoTls)
            .prepared(true)
            .build()
            .unwrap()
    }

    fn admin(provider: &PostgresProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }

    async fn prefixed(&self, prefix: &str) -> Option<PostgresProvider> {
        self.provider().await.with_prefix(prefix).ok()
    }

    async fn age(&self, name: &Name, by: Duration) -> bool {
        self.0.age(name, by).await
    }
}

dlock_testkit::conformance!(Listening);
