//! The provider passes the conformance suite on a cluster of three nodes, with wake-ups over
//! sharded channels; over a plain one before Redis 7, which introduced them.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name,
    provider::{Admin, Capabilities, Discipline, Durability},
};
use dlock_redis::{Channels, RedisProvider};
use dlock_testkit::Fixture;

use crate::support::{Cluster, SOON, built, major};

struct RedisCluster(Cluster);

impl Fixture for RedisCluster {
    type Provider = RedisProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("redis", Discipline::StoreClock)
        .closing(true)
        .marks(true)
        .watch(true)
        .batch(true)
        .durability(Durability::Volatile);

    const NAME_BYTES: usize = Name::MAX_BYTES - "dlock".len();

    const BLOCKS: bool = true;

    // Other tests keep the machine busy.
    const UNANSWERED: u32 = 2;

    async fn start() -> Self {
        Self(Cluster::start().await)
    }

    async fn provider(&self) -> RedisProvider {
        let channels = match major(&self.0.nodes[0]).await {
            ..7 => Channels::Plain,
            _ => Channels::Sharded,
        };
        let provider = RedisProvider::builder()
            .connection(self.0.connection().await)
            .client(self.0.nodes[0].client())
            .wakeups(channels)
            .call_timeout(SOON);
        built(provider.build())
    }

    fn admin(provider: &RedisProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }

    async fn prefixed(&self, prefix: &str) -> Option<RedisProvider> {
        self.provider().await.with_prefix(prefix).ok()
    }

    async fn age(&self, name: &Name, by: Duration) -> bool {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        crate::support::record::age(&mut self.0.connection().await, name, by).await
    }
}

dlock_testkit::conformance!(RedisCluster);
