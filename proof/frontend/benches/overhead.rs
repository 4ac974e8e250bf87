//! What the frontend adds to the store's own reply time: an acquire and a release through `DLock`
//! beside the same two calls on the provider, in one run. The memory store answers in well under a
//! microsecond, so what is measured is ours: the bookkeeping, and what else the calls set in motion.

use std::time::{Duration, Instant};

use criterion::Criterion;
use dlock_core::{
    DLock, Error, Name, Provider, TryAcquire,
    provider::{Acquire, AcquireOutcome, Release},
};
use dlock_testkit::memory::{MemoryProvider, MemoryStore};
use tokio::runtime::Runtime;
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
        bencher.iter_custom(|times| {
            let (provider, name) = (provider.clone(), name.clone());
            timed(&runtime, async move {
                for _ in 0..times {
                    let uuid = Uuid::new_v4();
                    let request = Acquire::new(name.clone(), uuid, LEASE);
                    let answer = provider.acquire(&request).await?;
                    assert!(matches!(answer, AcquireOutcome::Acquired(_)));
                    let release = Release::new(name.clone(), uuid, None);
                    provider.release(&release).await?;
                }
                Ok(())
            })
        });
    });
    pair.bench_function("DLock::try_acquire", |bencher| {
        bencher.iter_custom(|times| {
            let lock = lock.clone();
            timed(&runtime, async move {
                for _ in 0..times {
                    match lock.try_acquire().await? {
                        TryAcquire::Acquired(lease) => lease.release().await?,
                        TryAcquire::Held(holder) => panic!("{holder}"),
                    };
                }
                Ok(())
            })
        });
    });
    pair.bench_function("DLock::acquire", |bencher| {
        bencher.iter_custom(|times| {
            let lock = lock.clone();
            timed(&runtime, async move { pairs(&lock, times).await })
        });
    });
    pair.finish();
    criterion.final_summary();
    Ok(())
}

async fn pairs(lock: &DLock, times: u64) -> Result<(), Error> {
    for _ in 0..times {
        lock.acquire().await?.release().await?;
    }
    Ok(())
}

/// How long this takes where programs do it: in a task.
fn timed(
    runtime: &Runtime,
    pairs: impl Future<Output = Result<(), Error>> + Send + 'static,
) -> Duration {
    let work = runtime.spawn(async move {
        #[expect(clippy::disallowed_methods, reason = "measures calls, not a lease")]
        let began = Instant::now();
        pairs.await.map(|()| began.elapsed())
    });
    match runtime.block_on(work) {
        Ok(Ok(took)) => took,
        failed => panic!("{failed:?}"),
    }
}
