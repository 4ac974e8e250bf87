//! Every case of the frontend, over the memory provider in both disciplines, in paused time, and as a store whose reads
//! cost less than its refusals; and what needs a provider, or a runtime, of its own.

mod always_ready;
mod reasons;
mod recorder;
mod two_runtimes;

use std::sync::Arc;

use dlock_core::provider::{Admin, Capabilities, Discipline, Durability};
use dlock_testkit::{
    Fixture,
    memory::{MemoryProvider, MemoryStore},
};

macro_rules! fixture {
    ($module:ident, $discipline:ident, cheap_reads: $cheap_reads:literal) => {
        mod $module {
            use super::*;

            struct Memory(MemoryStore);

            impl Fixture for Memory {
                type Provider = MemoryProvider;

                const CAPABILITIES: Capabilities =
                    Capabilities::new("memory", Discipline::$discipline)
                        .closing(true)
                        .marks(true)
                        .watch(true)
                        .cheap_reads($cheap_reads)
                        .batch(true)
                        .durability(Durability::Volatile);
                const PAUSED: bool = true;

                async fn start() -> Self {
                    Self(MemoryStore::new(Discipline::$discipline))
                }

                async fn provider(&self) -> MemoryProvider {
                    MemoryProvider::new(&self.0).cheap_reads($cheap_reads)
                }

                fn admin(provider: &MemoryProvider) -> Option<Arc<dyn Admin>> {
                    Some(Arc::new(provider.clone()))
                }
            }

            dlock_core_cases::frontend!(Memory, without [purge, prefix]);
        }
    };
}

fixture!(store_clock, StoreClock, cheap_reads: false);
fixture!(observer, Observer, cheap_reads: false);
fixture!(observer_by_reads, Observer, cheap_reads: true);
