//! The provider passes the conformance suite on one server.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name,
    provider::{Admin, Capabilities, Discipline, Durability},
};
use dlock_nats::NatsProvider;
use dlock_nats_proof::Server;
use dlock_testkit::Fixture;

struct Nats(Server);

impl Fixture for Nats {
    type Provider = NatsProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("nats", Discipline::Observer)
        .closing(true)
        .marks(true)
        .watch(true)
        .durability(Durability::Durable);

    const LEASE: Duration = Duration::from_secs(1);
    const NAME_BYTES: usize = Name::MAX_BYTES - "dlock".len();

    // Other tests keep the machine busy.
    const UNANSWERED: u32 = 2;

    async fn start() -> Self {
        Self(Server::start().await)
    }

    async fn provider(&self) -> NatsProvider {
        self.0.provider().await
    }

    fn admin(provider: &NatsProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }

    async fn prefixed(&self, prefix: &str) -> Option<NatsProvider> {
        self.0.provider().await.with_prefix(prefix).ok()
    }
}

// Without an expiry the rule of `purge` can only be kept for released records; see `keys.rs`.
dlock_testkit::conformance!(Nats, without[purge]);
