//! The provider passes the conformance suite: over a store that shows nothing to the losers, and over one that shows
//! them the winner and hints at changes.

use std::sync::Arc;

use dlock_cas::CasProvider;
use dlock_core::provider::{Admin, Capabilities, Discipline, Durability};
use dlock_testkit::Fixture;

use crate::{store::Memory, support::Showing};

macro_rules! suite {
    ($module:ident, $store:ident, $capabilities:expr, without $left_out:tt) => {
        mod $module {
            use super::*;

            struct Kept($store);

            impl Fixture for Kept {
                type Provider = CasProvider<$store>;

                const CAPABILITIES: Capabilities = $capabilities;

                const BLOCKS: bool = true;
                // Renewals that race with each other may lose three times.
                const UNANSWERED: u32 = 2;

                async fn start() -> Self {
                    Self($store::default())
                }

                async fn provider(&self) -> Self::Provider {
                    CasProvider::new(self.0.clone())
                }

                fn admin(provider: &Self::Provider) -> Option<Arc<dyn Admin>> {
                    Some(Arc::new(provider.clone()))
                }

                async fn prefixed(&self, prefix: &str) -> Option<Self::Provider> {
                    CasProvider::new(self.0.clone()).with_prefix(prefix).ok()
                }
            }

            dlock_testkit::conformance!(Kept, without $left_out);
        }
    };
}

const MEMORY: Capabilities = Capabilities::new("memory", Discipline::Observer)
    .closing(true)
    .marks(true)
    .durability(Durability::Volatile);

suite!(silent, Memory, MEMORY, without [watch, purge]);
suite!(
    showing,
    Showing,
    MEMORY.watch(true).cheap_reads(true),
    without[purge]
);
