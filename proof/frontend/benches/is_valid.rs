//! What asking a guard whether it is valid costs: three readings of the system's clocks and two
//! atomic loads. A program may ask before every write, so it must stay well under 200 ns.

use std::{hint::black_box, time::Duration};

use criterion::Criterion;
use dlock_core::DLock;
use dlock_testkit::memory::{MemoryProvider, MemoryStore};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()?;
    let lock = DLock::builder()
        .name("measured")
        .duration(Duration::from_secs(60))
        .provider(MemoryProvider::new(&MemoryStore::store_clock()))
        .build()?;
    let guard = runtime.block_on(lock.hold())?;
    assert!(guard.is_valid());

    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("Guard::is_valid", |bencher| {
        bencher.iter(|| black_box(&guard).is_valid());
    });
    criterion.bench_function("Guard::remaining", |bencher| {
        bencher.iter(|| black_box(&guard).remaining());
    });
    criterion.final_summary();

    runtime.block_on(guard.release())?;
    Ok(())
}
