//! What the frontend adds to a renewal: drawing its number and its `sent`, a task, crediting the
//! answer. The provider's own call on the memory store stands beside it. (What acquire, release and
//! `is_valid` cost by themselves is measured by `cargo bench -p dlock-proof`.)

use std::time::Duration;

use criterion::Criterion;
use dlock_core::{
    DLock, Name, Provider as _,
    provider::{Acquire, AcquireOutcome, Renew},
};
use dlock_testkit::memory::{MemoryProvider, MemoryStore};
use uuid::Uuid;

const LEASE: Duration = Duration::from_secs(3600);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One thread: what is measured runs where it is asked for.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let provider = MemoryProvider::new(&MemoryStore::store_clock());
    let lock = DLock::builder()
        .name("frontend")
        .duration(LEASE)
        .provider(provider.clone())
        .build()?;
    let mut lease = runtime.block_on(lock.acquire())?;
    let (name, uuid) = (Name::new("provider")?, Uuid::new_v4());
    let taken = runtime.block_on(provider.acquire(&Acquire::new(name.clone(), uuid, LEASE)))?;
    assert!(matches!(taken, AcquireOutcome::Acquired(_)));

    let mut criterion = Criterion::default().configure_from_args();
    let mut renewal = criterion.benchmark_group("renewal");
    let mut n = 0;
    renewal.bench_function("provider", |bencher| {
        bencher.iter(|| {
            n += 1;
            let request = Renew::new(name.clone(), uuid, n);
            assert!(runtime.block_on(provider.renew(&request)).is_ok());
        });
    });
    renewal.bench_function("Lease::renew", |bencher| {
        bencher.iter(|| assert!(runtime.block_on(lease.renew()).is_ok()));
    });
    renewal.finish();
    criterion.final_summary();

    runtime.block_on(lease.release())?;
    Ok(())
}
