//! Many leases of one process that renew themselves.

use std::time::Duration;

use anyhow::{Result, bail};

use super::{Line, Load, Page};
use crate::{
    bench::{At, Bench},
    results::{Figures, figures},
    systems::{Entry, LEASE, Store},
    worker::{Answer, Lease, Order, Worker},
};

pub(super) const PAGE: Page = Page {
    title: "Leases that renew themselves, lease of 15 s, every 5 s",
    columns: &[
        ("least to spare, ms", "least_spare_ms"),
        ("cores of ours", "cores_of_ours"),
        ("µs of ours a renewal", "us_of_ours_per_renewal"),
        ("cores of the store", "cores_of_the_store"),
        ("µs of the store", "us_of_the_store_per_renewal"),
        ("bytes a lease", "bytes_per_lease"),
        ("taken/s", "taken_per_second"),
    ],
    lines: &[Line {
        what: "renewing one of 10,000 leases, µs of the process that holds them",
        case: "10000",
        figure: "us_of_ours_per_renewal",
        more: false,
    }],
    goals: &[],
};

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    for entry in bench.ours() {
        for leases in bench.size(vec![1_000, 10_000, 100_000], vec![1_000]) {
            if leases > most(entry.store) {
                continue;
            }
            bench.says(format!("{leases} leases on {}", entry.store));
            let at = At {
                run,
                load: Load::Renewals,
                case: &leases.to_string(),
            };
            bench.settle(at, entry, keep(bench, entry, leases).await);
        }
    }
    Ok(())
}

/// A file and an emulator are not meant for a hundred thousand leases.
const fn most(store: Store) -> usize {
    match store {
        Store::Redis | Store::Postgres => usize::MAX,
        Store::SQLite => 10_000,
        Store::DynamoDb => 1_000,
    }
}

/// Leases in a separate process, so that its time and memory are theirs alone.
async fn keep(bench: &Bench, entry: &Entry, leases: usize) -> Result<Figures> {
    let lease = Lease {
        store: entry.store,
        places: bench.places().clone(),
        name: bench.name("renewed"),
        duration: LEASE,
    };
    let mut worker = Worker::start()?;
    let order = Order::Renew {
        lease,
        leases,
        watch: bench.size(Duration::from_millis(10_500), Duration::from_millis(6_000)),
    };
    let Answer::Ready = worker.ask(&order).await? else {
        bail!("the worker did not take the leases");
    };
    let used = bench.servers.processor_time(entry.store);
    let Answer::Renewed(mut renewed) = worker.hear().await? else {
        bail!("the worker did not renew");
    };
    let used = bench
        .servers
        .processor_time(entry.store)
        .saturating_sub(used)
        .as_secs_f64();
    // Faster than releasing that many leases; they run out.
    worker.kill().await?;
    let per = |figure: &str| used / renewed.get(figure).copied().unwrap_or(f64::NAN);
    renewed.extend(figures([
        ("cores_of_the_store", per("span_s")),
        ("us_of_the_store_per_renewal", per("renewals") * 1e6),
    ]));
    Ok(renewed)
}
