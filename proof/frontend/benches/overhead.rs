//! What the frontend adds to the store's own reply time: an acquire and a release through `DLock`
//! beside the same two calls on the provider, in one run. The memory store answers in well under a
//! microsecond, so what is measured is ours: a task for each call, its wake-ups, the bookkeeping.

use std::time::Duration;

use criterion::Criterion;
use dlock_core::{
    DLock, Name, Provider, TryAcquire,
    provider::{Acquire, AcquireOutcome, Release},
};
use dlock_testkit::memory::{MemoryProvider, MemoryStore};
use uuid::Uuid;

const LEASE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()?;
    let provider = MemoryProvider::new(&MemoryStore::store_clock());
    let name = Name::new("measured")?;
    let lock = DLock::builder()
        .name("measured")
        .duration(LEASE)
        .provider(provider.clone())
        .build()?;

    let mut criterion = Criterion::default().configure_from_args();
    let mut pair = criterion.benchmark_group("acquire and release");
    pair.bench_function("provider", |bencher| {
        bencher.iter(|| {
            runtime.block_on(async {
                let uuid = Uuid::new_v4();
                let request = Acquire::new(name.clone(), uuid, LEASE);
                let answer = provider.acquire(&request).await;
                assert!(matches!(answer, Ok(AcquireOutcome::Acquired(_))));
                let release = Release::new(name.clone(), uuid, None);
                assert!(provider.release(&release).await.is_ok());
            });
        });
    });
    for (case, waits) in [("DLock::try_acquire", false), ("DLock::acquire", true)] {
        pair.bench_function(case, |bencher| {
            bencher.iter(|| {
                let lock = lock.clone();
                // In a task, where programs call it: `block_on` would add a thread's wake-up.
                let work = runtime.spawn(async move {
                    let lease = if waits {
                        lock.acquire().await
                    } else {
                        match lock.try_acquire().await {
                            Ok(TryAcquire::Acquired(lease)) => Ok(lease),
                            other => panic!("{other:?}"),
                        }
                    };
                    lease?.release().await
                });
                assert!(runtime.block_on(work).is_ok_and(|ended| ended.is_ok()));
            });
        });
    }
    pair.bench_function("an empty task", |bencher| {
        bencher.iter(|| assert!(runtime.block_on(runtime.spawn(async {})).is_ok()));
    });
    pair.finish();
    criterion.final_summary();
    Ok(())
}
