//! Acquire and release by many tasks, each on its own name.

use std::time::Duration;

use anyhow::Result;
use tokio::task::JoinSet;

use super::{Line, Load, Page};
use crate::{
    bench::{At, Bench},
    clock::Moment,
    results::{Figures, figures},
    statistics::{micros, percentile},
    systems::System,
};

pub(super) const COLUMNS: &[(&str, &str)] = &[
    ("pairs/s", "pairs_per_second"),
    ("p50, µs", "p50_us"),
    ("p99", "p99_us"),
];

pub(super) const PAGE: Page = Page {
    title: "Acquire and release on names of their own",
    columns: COLUMNS,
    lines: &[Line {
        what: "64 tasks, a lock each: pairs/s",
        case: "64 tasks",
        figure: "pairs_per_second",
        more: true,
    }],
    goals: &[],
};

/// Time to open connections and to make their first calls, before anything is counted.
const WARM: Duration = Duration::from_millis(300);

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    let span = bench.size(Duration::from_millis(300), Duration::from_millis(80));
    for &store in &bench.stores {
        for tasks in [1, 16, 64, 256] {
            bench.says(format!("{tasks} tasks with a lock each on {store}"));
            let case = format!("{tasks} tasks");
            for entry in bench.systems(store) {
                let at = At {
                    run,
                    load: Load::Throughput,
                    case: &case,
                };
                let measured = async {
                    let system = bench.open(entry).await?;
                    crowd(&*system, &bench.name("crowd"), tasks, span).await
                };
                bench.settle(at, entry, measured.await);
            }
        }
    }
    Ok(())
}

/// That many tasks, for that long.
pub(super) async fn crowd(
    system: &dyn System,
    name: &str,
    tasks: usize,
    span: Duration,
) -> Result<Figures> {
    let mut crowd = JoinSet::new();
    let begin = Moment::now().after(WARM);
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
        ("pairs_per_second", took.len() as f64 / span.as_secs_f64()),
        ("p50_us", percentile(&mut took, 0.5)),
        ("p99_us", percentile(&mut took, 0.99)),
    ]))
}
