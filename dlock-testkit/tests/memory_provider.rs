//! The reference provider passes the suite, in both disciplines, in paused time, and as a store whose reads cost less
//! than its refusals.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name,
    provider::{Admin, Capabilities, Discipline, Durability},
};
use dlock_testkit::{
    Fixture,
    memory::{MemoryProvider, MemoryStore},
};

const fn capabilities(discipline: Discipline, cheap_reads: bool) -> Capabilities {
    Capabilities::new("memory", discipline)
        .closing(true)
        .marks(true)
        .watch(true)
        .cheap_reads(cheap_reads)
        .batch(true)
        .durability(Durability::Volatile)
}

macro_rules! fixture {
    ($module:ident, $discipline:ident, cheap_reads: $cheap_reads:literal) => {
        mod $module {
            use super::*;

            struct Memory(MemoryStore);

            impl Fixture for Memory {
                type Provider = MemoryProvider;

                const CAPABILITIES: Capabilities =
                    capabilities(Discipline::$discipline, $cheap_reads);
                const PAUSED: bool = true;
                const BLOCKS: bool = true;

                async fn start() -> Self {
                    Self(MemoryStore::new(Discipline::$discipline))
                }

                async fn provider(&self) -> MemoryProvider {
                    MemoryProvider::new(&self.0).cheap_reads($cheap_reads)
                }

                fn admin(provider: &MemoryProvider) -> Option<Arc<dyn Admin>> {
                    Some(Arc::new(provider.clone()))
                }

                async fn prefixed(&self, prefix: &str) -> Option<MemoryProvider> {
                    Some(self.provider().await.prefix(prefix))
                }

                async fn age(&self, name: &Name, by: Duration) -> bool {
                    self.0.age(name, by)
                }
            }

            dlock_testkit::conformance!(Memory);
        }
    };
}

fixture!(store_clock, StoreClock, cheap_reads: false);
fixture!(observer, Observer, cheap_reads: false);
fixture!(observer_by_reads, Observer, cheap_reads: true);
