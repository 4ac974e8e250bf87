//! The provider passes the conformance suite on one server, with wake-ups.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name,
    provider::{Admin, Capabilities, Discipline, Durability},
};
use dlock_redis::{Channels, RedisProvider};
use dlock_testkit::Fixture;
use redis::Client;

use crate::support::{SOON, Server, built, connect, given};

struct Redis {
    client: Client,
    _server: Option<Server>,
}

impl Fixture for Redis {
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
        if let Some(client) = given() {
            return Self {
                client,
                _server: None,
            };
        }
        let server = Server::start(&[]).await;
        Self {
            client: server.client(),
            _server: Some(server),
        }
    }

    async fn provider(&self) -> RedisProvider {
        let provider = RedisProvider::builder()
            .client(self.client.clone())
            .wakeups(Channels::Plain)
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
        crate::support::record::age(&mut connect(&self.client).await, name, by).await
    }
}

dlock_testkit::conformance!(Redis);
