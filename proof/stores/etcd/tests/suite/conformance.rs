//! The provider passes the conformance suite on one server.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name,
    provider::{Admin, Capabilities, Discipline, Durability},
};
use dlock_etcd::EtcdProvider;
use dlock_etcd_proof::Server;
use dlock_testkit::Fixture;

struct Etcd(Server);

impl Fixture for Etcd {
    type Provider = EtcdProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("etcd", Discipline::Observer)
        .closing(true)
        .marks(true)
        .watch(true)
        .cheap_reads(true)
        .durability(Durability::Durable);

    const LEASE: Duration = Duration::from_secs(1);
    const NAME_BYTES: usize = Name::MAX_BYTES - "dlock".len();

    // Other tests keep the machine busy.
    const UNANSWERED: u32 = 2;

    async fn start() -> Self {
        Self(Server::start().await)
    }

    async fn provider(&self) -> EtcdProvider {
        self.0.provider().await
    }

    fn admin(provider: &EtcdProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }

    async fn prefixed(&self, prefix: &str) -> Option<EtcdProvider> {
        self.0.provider().await.with_prefix(prefix).ok()
    }
}

// Without an expiry the rule of `purge` can only be kept for released records; see `keys.rs`.
dlock_testkit::conformance!(Etcd, without[purge]);
