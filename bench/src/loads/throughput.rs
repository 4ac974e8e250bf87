//! Acquire and release by many tasks, each on its own name.

use std::time::Duration;

use anyhow::Result;
use tokio::task::JoinSet;

use super::{Line, Load, Page};
use crate::{
    bench::{At, Bench},
    check::{Bound::LeastOfRaw, Goal, goal},
    clock::Moment,
    results::{Figures, figures},
    statistics::{micros, percentile},
    systems::{Store, System},
};

pub(super) const COLUMNS: &[(&str, &str)] =
    &[("pairs/s", RATE), ("p50, µs", "p50_us"), ("p99", "p99_us")];

pub(super) const PAGE: Page = Page {
    title: "Acquire and release on names of their own",
    columns: COLUMNS,
    lines: &[Line {
        what: "64 tasks, a lock each: pairs/s",
        case: "64 tasks",
        figure: RATE,
        more: true,
    }],
    goals: &[
        of_raw(Store::Redis, "1 tasks", 0.8),
        of_raw(Store::Redis, "64 tasks", 0.65),
        of_raw(Store::Redis, "256 tasks", 0.62),
        of_raw(Store::Postgres, "1 tasks", 0.75),
        of_raw(Store::Postgres, "16 tasks", 0.75),
        of_raw(Store::Postgres, "64 tasks", 1.3),
        of_raw(Store::Postgres, "256 tasks", 1.8),
        of_raw(Store::SQLite, "64 tasks", 0.9),
        of_raw(Store::DynamoDb, "64 tasks", 0.8),
    ],
};

const RATE: &str = "pairs_per_second";

const fn of_raw(store: Store, case: &'static str, times: f64) -> Goal {
    goal(store, case, RATE, LeastOfRaw(times)).open()
}

/// Time to open connections and to make their first calls, before anything is counted.
pub(super) const WARM: Duration = Duration::from_millis(300);

/// Connections and plans are made while it counts.
const COLD: usize = 64;

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    let span = bench.size(Duration::from_millis(300), Duration::from_millis(80));
    for &store in &bench.stores {
        for tasks in [1, 16, 64, 256] {
            bench.says(format!("{tasks} tasks with a lock each on {store}"));
            let case = format!("{tasks} tasks");
            for entry in bench.systems(store) {
                let measured = async {
                    let system = bench.open(entry).await?;
                    crowd(&*system, &bench.name("crowd"), tasks, WARM, span).await
                };
                bench.settle(at(run, &case), entry, measured.await);
            }
        }
        bench.says(format!("{COLD} tasks at the start of a process on {store}"));
        let case = format!("{COLD} tasks, cold");
        for entry in bench.systems(store) {
            let measured = async {
                let system = entry.open(bench.places()).await?;
                crowd(&*system, &bench.name("cold"), COLD, Duration::ZERO, span).await
            };
            bench.settle(at(run, &case), entry, measured.await);
        }
    }
    Ok(())
}

const fn at(run: u32, case: &str) -> At<'_> {
    At {
        run,
        load: Load::Throughput,
        case,
    }
}

/// That many tasks, for that long after the time to warm up.
pub(super) async fn crowd(
    system: &dyn System,
    name: &str,
    tasks: usize,
    warm: Duration,
    span: Duration,
) -> Result<Figures> {
    let mut crowd = JoinSet::new();
    let begin = Moment::now().after(warm);
    let end = begin.after(span);
    for task in 0..tasks {
        let lock = system.lock(&format!("{name}-{task}"))?;
        crowd.spawn(async move {
            let mut took = Vec::new();
            loop {
                let asked = Moment::now();
                if asked >= end {
                    return Ok::<_, anyhow::Error>(took);
                }
                lock.acquire().await?.release().await?;
                let released = Moment::now();
                if begin <= released && released < end {
                    took.push(micros(released.since(asked)));
                }
            }
        });
    }
    let mut took = Vec::new();
    while let Some(done) = crowd.join_next().await {
        took.extend(done??);
    }
    Ok(figures([
        (RATE, took.len() as f64 / span.as_secs_f64()),
        ("p50_us", percentile(&mut took, 0.5)),
        ("p99_us", percentile(&mut took, 0.99)),
    ]))
}
