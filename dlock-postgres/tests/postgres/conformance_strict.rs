//! The provider passes the conformance suite in sessions that are serializable or of repeatable reads, as a
//! role with the rights that the README lists and no others.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name,
    provider::{Admin, Capabilities, Discipline},
};
use dlock_postgres::{PostgresProvider, deadpool_postgres::Pool};
use dlock_testkit::Fixture;

use crate::{
    rights::{Database, documented},
    support::{on, pool},
};

/// A database, and the pool of a user with few rights whose transactions are of this level.
struct Strict {
    database: Database,
    clients: Pool,
}

impl Strict {
    async fn start(level: &str) -> Self {
        let database = Database::create().await;
        let rights = documented();
        let mut config = database.role(&rights.iter().collect::<Vec<_>>()).await;
        let level = level.replace(' ', "\\ ");
        config.options(format!("-c default_transaction_isolation={level}"));
        Self {
            database,
            clients: pool(config, 16),
        }
    }

    fn provider(&self) -> PostgresProvider {
        on(self.clients.clone(), "dlock")
    }

    async fn age(&self, name: &Name, by: Duration) -> bool {
        let update = "UPDATE dlock.lock SET expiry = expiry - $2 * interval '1 second' WHERE prefix = '' AND name = $1";
        let (name, by) = (name.as_str(), by.as_secs_f64());
        let aged = self.database.client.execute(update, &[&name, &by]).await;
        aged.is_ok_and(|aged| aged == 1)
    }
}

/// The suite at one level.
macro_rules! at {
    ($module:ident, $level:literal) => {
        mod $module {
            use super::*;

            struct Postgres(Strict);

            impl Fixture for Postgres {
                type Provider = PostgresProvider;

                const CAPABILITIES: Capabilities =
                    Capabilities::new("postgres", Discipline::StoreClock)
                        .closing(true)
                        .marks(true)
                        .batch(true);

                const BLOCKS: bool = true;

                const FUTURE_BYTES: usize = 4608;
                // A race for a row has one winner, and most of the others learn that nothing was done; they try again.
                const UNANSWERED: u32 = 15;

                async fn start() -> Self {
                    Self(Strict::start($level).await)
                }

                async fn provider(&self) -> PostgresProvider {
                    self.0.provider()
                }

                fn admin(provider: &PostgresProvider) -> Option<Arc<dyn Admin>> {
                    Some(Arc::new(provider.clone()))
                }

                async fn prefixed(&self, prefix: &str) -> Option<PostgresProvider> {
                    self.0.provider().with_prefix(prefix).ok()
                }

                async fn age(&self, name: &Name, by: Duration) -> bool {
                    self.0.age(name, by).await
                }
            }

            dlock_testkit::conformance!(Postgres, without[watch]);
        }
    };
}

at!(repeatable_read, "repeatable read");
at!(serializable, "serializable");
