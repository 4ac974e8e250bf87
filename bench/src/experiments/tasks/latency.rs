//! From the call that enqueues a task to its beginning in an idle worker, and in one that has a steady load.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::sleep;

use super::{percentile_ms, with, words};
use crate::{
    bench::{At, Bench},
    results::{Figures, figures},
    tasks::{
        CONCURRENCY, Entry, POOL,
        fleet::{Crew, tell},
        place::Place,
    },
};

/// How long a worker has to come to rest.
const REST: Duration = Duration::from_secs(1);

/// Tasks that are offered in this time are not counted: the process that enqueues them connects and prepares its statements
/// first. Of a hundred tasks the first alone would be the 99th percentile.
const WARM: Duration = Duration::from_secs(1);

/// The name of the case, tasks a second, and how many times as long as the usual time they are offered.
const RATES: [(&str, f64, f64); 2] = [("idle, 8/s", 8.0, 4.0), ("200/s", 200.0, 1.0)];

pub(crate) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    for (case, rate, times) in RATES {
        for entry in bench.queues() {
            let at = At {
                run,
                experiment: "tasks: latency",
                case,
            };
            let seconds = (WARM + bench.sizes.queue.latency.mul_f64(times)).as_secs_f64();
            with(bench, at, entry, async |place| {
                watch(entry, place, rate, seconds).await
            })
            .await;
        }
    }
    Ok(())
}

async fn watch(entry: &'static Entry, place: &Place, rate: f64, seconds: f64) -> Result<Figures> {
    let crew = Crew::start(entry, place, CONCURRENCY, POOL, &[]).await?;
    sleep(REST).await;
    let offer = words(["offer", &rate.to_string(), &seconds.to_string()]);
    tell(entry, place, &offer).await?;
    sleep(REST).await;
    let mut seen = crew.stop().await?.seen;
    let offered = rate * seconds;
    ensure!(
        seen.len() as f64 > 0.99 * offered - 1.0,
        "of {offered} tasks {} began within {REST:?}",
        seen.len()
    );
    let first = seen.iter().map(|(at, _)| *at).min().unwrap_or_default();
    seen.retain(|(at, _)| *at >= first + WARM.as_micros() as u64);
    Ok(figures([
        ("p50_ms", percentile_ms(&seen, 0.5)),
        ("p99_ms", percentile_ms(&seen, 0.99)),
    ]))
}
