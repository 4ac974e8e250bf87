//! The provider passes the conformance suite on one server.

use std::{sync::Arc, time::Duration};

use dlock_core::{Admin, Capabilities, Discipline, Durability, Name};
use dlock_redis::RedisProvider;
use dlock_testkit::Fixture;

struct Redis {
    client: redis::Client,
}

impl Fixture for Redis {
    type Provider = RedisProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("redis", Discipline::StoreClock)
        .batch(true)
        .durability(Durability::Volatile);

    /// Without the prefix, `dlock`.
    const NAME_BYTES: usize = Name::MAX_BYTES - 5;

    async fn start() -> Self {
        let url = std::env::var("DLOCK_TEST_REDIS_URL").unwrap();
        Self {
            client: redis::Client::open(url).unwrap(),
        }
    }

    async fn provider(&self) -> RedisProvider {
        RedisProvider::builder()
            .client(self.client.clone())
            .build()
            .unwrap()
    }

    fn admin(provider: &RedisProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }

    async fn prefixed(&self, prefix: &str) -> Option<RedisProvider> {
        self.provider().await.with_prefix(prefix).ok()
    }

    async fn age(&self, name: &Name, by: Duration) -> bool {
        let by = i64::try_from(by.as_micros()).unwrap();
        let mut connection = self
            .client
            .get_multiplexed_async_connection()
            .await
            .unwrap();
        redis::cmd("HINCRBY")
            .arg(format!("dlock:{{{name}}}"))
            .arg("expiry")
            .arg(-by)
            .exec_async(&mut connection)
            .await
            .is_ok()
    }
}

dlock_testkit::conformance!(Redis, without[watch]);
