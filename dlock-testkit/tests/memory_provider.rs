//! The reference provider passes the suite, in both disciplines, in paused and in real time.

use std::{sync::Arc, time::Duration};

use dlock_core::{Admin, Capabilities, Discipline, Durability, Name};
use dlock_testkit::{
    Fixture,
    memory::{MemoryProvider, MemoryStore},
};

const fn capabilities(discipline: Discipline) -> Capabilities {
    Capabilities::new("memory", discipline)
        .watch(true)
        .batch(true)
        .durability(Durability::Volatile)
}

macro_rules! fixture {
    ($module:ident, $discipline:ident, $paused:literal) => {
        mod $module {
            use super::*;

            struct Memory(MemoryStore);

            impl Fixture for Memory {
                type Provider = MemoryProvider;

                const CAPABILITIES: Capabilities = capabilities(Discipline::$discipline);
                const PAUSED: bool = $paused;

                async fn start() -> Self {
                    Self(MemoryStore::new(Discipline::$discipline))
                }

                async fn provider(&self) -> MemoryProvider {
                    MemoryProvider::new(&self.0)
                }

                fn admin(provider: &MemoryProvider) -> Option<Arc<dyn Admin>> {
                    Some(Arc::new(provider.clone()))
                }

                async fn prefixed(&self, prefix: &str) -> Option<MemoryProvider> {
                    Some(MemoryProvider::new(&self.0).prefix(prefix))
                }

                async fn age(&self, name: &Name, by: Duration) -> bool {
                    self.0.age(name, by)
                }
            }

            dlock_testkit::conformance!(Memory);
        }
    };
}

fixture!(store_clock, StoreClock, true);
fixture!(observer, Observer, true);
fixture!(store_clock_in_real_time, StoreClock, false);
fixture!(observer_in_real_time, Observer, false);
