//! The provider passes the conformance suite on one server.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name,
    provider::{Admin, Capabilities, Discipline},
};
use dlock_mysql::MysqlProvider;
use dlock_mysql_proof::{Database, server};
use dlock_testkit::Fixture;
use mysql_async::prelude::Queryable;

/// A database, and a provider whose connections all others share: opening one takes longer than any call, and the cases
/// are about calls.
struct Mysql(Database, MysqlProvider);

impl Fixture for Mysql {
    type Provider = MysqlProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("mysql", Discipline::StoreClock)
        .closing(true)
        .marks(true);

    const BLOCKS: bool = true;

    // Other tests keep the machine busy, and a batch is renewed one lease after the other.
    const LEASE: Duration = Duration::from_secs(1);
    const UNANSWERED: u32 = 2;

    async fn start() -> Self {
        let database = server().await.database().await;
        let provider = database.provider(64).await;
        Self(database, provider)
    }

    async fn provider(&self) -> MysqlProvider {
        // Not a clone, which would count as the same client.
        self.1.with_prefix("").unwrap()
    }

    fn admin(provider: &MysqlProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }

    async fn prefixed(&self, prefix: &str) -> Option<MysqlProvider> {
        self.1.with_prefix(prefix).ok()
    }

    async fn age(&self, name: &Name, by: Duration) -> bool {
        let mut connection = self.0.connection().await;
        let update = "UPDATE dlock_lock SET expiry = expiry - ? WHERE prefix = '' AND name = ?";
        let micros = u64::try_from(by.as_micros()).unwrap();
        let parameters = (micros, name.as_str());
        connection.exec_drop(update, parameters).await.unwrap();
        connection.affected_rows() == 1
    }
}

dlock_testkit::conformance!(Mysql, without[watch]);
