//! Properties that need runtimes of their own. Some measure, so little else runs in this program.

mod frontend;
mod handing_over;
mod renewals;

use std::time::Duration;

use dlock_core::{Client, Clock, DLock, Provider};
use dlock_testkit::{
    faults::Faulty,
    memory::{MemoryProvider, MemoryStore},
};
use tokio::runtime::{Builder, Runtime};

const LEASE: Duration = Duration::from_secs(10);

fn faulty() -> Faulty<MemoryProvider> {
    Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()))
}

fn lock(provider: impl Provider, clock: Clock, lease: Duration) -> DLock {
    DLock::builder()
        .name("door")
        .provider(Client::with_clock(provider, clock))
        .duration(lease)
        .build()
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A lock in Tokio's time.
fn paused_lock(provider: impl Provider) -> DLock {
    lock(provider, Clock::tokio(1.0), LEASE)
}

fn paused() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A runtime that runs on its own thread.
fn driven() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap_or_else(|error| panic!("{error}"))
}
