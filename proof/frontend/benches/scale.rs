//! 100,000 leases of 15 s in one process, on a store in memory: what the frontend itself costs. The
//! store's own work is part of it.
//!
//! `cargo bench -p dlock-proof --bench scale`

use dlock_proof::scale::Scale;
use dlock_testkit::memory::{MemoryProvider, MemoryStore};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = MemoryProvider::new(&MemoryStore::store_clock());
    println!("{}", Scale::new(provider).run().await?);
    Ok(())
}
