//! The provider passes the conformance suite over Azure's protocol, and verifies that this service can carry locks.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    ErrorKind,
    provider::{Admin, Capabilities, Discipline},
};
use dlock_object_proof::{Azurite, over};
use dlock_object_store::ObjectProvider;
use dlock_testkit::Fixture;
use tokio::sync::OnceCell;

use crate::{fresh, rights::is_not_there};

/// One emulator for all tests: it is slow, and takes long to start.
pub(crate) async fn azurite() -> &'static Azurite {
    static AZURITE: OnceCell<Azurite> = OnceCell::const_new();
    AZURITE.get_or_init(Azurite::start).await
}

struct Azure(&'static Azurite);

impl Fixture for Azure {
    type Provider = ObjectProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("object-store", Discipline::Observer)
        .closing(true)
        .marks(true)
        .cheap_reads(true);

    // The emulator takes some milliseconds for a request, and handles one at a time.
    const LEASE: Duration = Duration::from_secs(2);
    const NAME_BYTES: usize = 330;
    // A busy emulator closes connections, and then races take more than three writes.
    const UNANSWERED: u32 = 12;

    async fn start() -> Self {
        Self(azurite().await)
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

dlock_testkit::conformance!(Azure, without[purge, watch]);

#[tokio::test]
async fn conditions_are_kept() {
    let provider = azurite().await.provider();
    provider.store().verify(&fresh("verify")).await.unwrap();
}

#[tokio::test]
async fn container_that_is_not_there_is_said_so() {
    let provider = over(azurite().await.container("none"));
    is_not_there(&provider).await;
    let error = provider.store().verify("dlock").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("no such bucket"), "{error}");
}
