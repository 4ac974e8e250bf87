//! Locks behind a server pass the suite that locks in a store pass: HTTP takes nothing away.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name,
    provider::{Admin, Capabilities, Discipline},
};
use dlock_http::HttpProvider;
use dlock_testkit::Fixture;

use crate::support::{Served, connect};

/// A server before a file.
struct Http(Served);

impl Fixture for Http {
    type Provider = HttpProvider;

    const CAPABILITIES: Capabilities = Capabilities::new("http", Discipline::StoreClock)
        .closing(true)
        .marks(true)
        .watch(true)
        .batch(true);

    // "default/" stands before each name.
    const NAME_BYTES: usize = Name::MAX_BYTES - 8;

    const BLOCKS: bool = true;

    // Other tests keep the machine busy.
    const UNANSWERED: u32 = 2;

    async fn start() -> Self {
        Self(Served::start().await)
    }

    async fn provider(&self) -> HttpProvider {
        connect(&[self.0.address], Duration::from_secs(20)).await
    }

    fn admin(provider: &HttpProvider) -> Option<Arc<dyn Admin>> {
        Some(Arc::new(provider.clone()))
    }
}

dlock_testkit::conformance!(Http, without [prefix, purge]);
