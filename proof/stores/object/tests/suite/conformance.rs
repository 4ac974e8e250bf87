//! The provider passes the conformance suite over S3.

use std::{sync::Arc, time::Duration};

use dlock_core::provider::{Admin, Capabilities, Discipline};
use dlock_object_proof::Server;
use dlock_object_store::ObjectProvider;
use dlock_testkit::Fixture;

struct S3(&'static Server);

impl Fixture for S3 {
    type Provider = ObjectProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("object-store", Discipline::Observer)
        .closing(true)
        .marks(true)
        .cheap_reads(true);

    const LEASE: Duration = Duration::from_secs(1);
    // A byte beyond ASCII takes three bytes of the object's key, which has room for 1024.
    const NAME_BYTES: usize = 330;

    // Other tests keep the machine busy.
    const UNANSWERED: u32 = 2;

    async fn start() -> Self {
        Self(crate::server().await)
    }

    async fn provider(&self) -> ObjectProvider {
        self.0.provider()
    }

    fn admin(provider: &ObjectProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }

    async fn prefixed(&self, prefix: &str) -> Option<ObjectProvider> {
        self.0.provider().with_prefix(prefix).ok()
    }
}

dlock_testkit::conformance!(S3, without[purge, watch]);
