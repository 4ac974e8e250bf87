//! The provider passes the conformance suite with every grant and every renewal waiting for a replica.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name,
    provider::{Admin, Capabilities, Discipline, Durability},
};
use dlock_redis::RedisProvider;
use dlock_testkit::Fixture;

use crate::support::{Server, built, replicated};

struct Acknowledged {
    primary: Server,
    _replica: Server,
}

impl Fixture for Acknowledged {
    type Provider = RedisProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("redis", Discipline::StoreClock)
        .closing(true)
        .marks(true)
        .batch(true)
        .durability(Durability::Volatile);

    const NAME_BYTES: usize = Name::MAX_BYTES - "dlock".len();

    const BLOCKS: bool = true;

    // Other tests keep the machine busy.
    const UNANSWERED: u32 = 2;

    async fn start() -> Self {
        let (primary, replica) = replicated().await;
        Self {
            primary,
            _replica: replica,
        }
    }

    async fn provider(&self) -> RedisProvider {
        let provider = RedisProvider::builder()
            .client(self.primary.client())
            .acknowledged_by(1)
            // Ten times the default: when sixteen cases begin at once alongside compilers, a replica is slow.
            .acknowledged_within(Duration::from_secs(1));
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
        crate::support::record::age(&mut self.primary.raw().await, name, by).await
    }
}

dlock_testkit::conformance!(Acknowledged, without[watch]);
