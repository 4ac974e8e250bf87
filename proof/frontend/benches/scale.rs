//! Leases of one process on a store in memory: what the frontend itself costs. The store's own work is part of it.
//!
//! `cargo bench -p dlock-proof --bench scale` has 100,000 leases of 15 s; `cargo bench -p dlock-proof --bench scale --
//! 1000000 60` a million of 60 s. They are watched for two leases.

use std::{env, time::Duration};

use dlock_proof::scale::Scale;
use dlock_testkit::memory::{MemoryProvider, MemoryStore};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = MemoryProvider::new(&MemoryStore::store_clock());
    // Cargo says `--bench` too.
    let mut numbers = env::args().filter_map(|argument| argument.parse().ok());
    let leases: u64 = numbers.next().unwrap_or(100_000);
    let duration = Duration::from_secs(numbers.next().unwrap_or(15));
    let scale = Scale::new(provider)
        .leases(usize::try_from(leases)?)
        .duration(duration)
        .lasting(2 * duration);
    println!("{}", scale.run().await?);
    Ok(())
}
