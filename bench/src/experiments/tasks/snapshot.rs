//! A steady load while a transaction keeps an old snapshot open, so that nothing of what is updated and deleted can be
//! cleaned up.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::{percentile_ms, with, words};
use crate::{
    bench::{At, Bench},
    results::{Figures, figures},
    systems::Store,
    tasks::{
        CONCURRENCY, Entry, POOL,
        driver::now,
        fleet::{Crew, tell},
        ours,
        place::{Place, connect},
    },
};

/// Tasks a second.
const RATE: f64 = 800.0;

/// The part of the time that counts as the start, and as the end.
const PART: f64 = 0.1;

pub(crate) async fn measure(bench: &Bench) -> Result<()> {
    for entry in bench.queues() {
        if entry.store != Store::Postgres {
            continue;
        }
        let at = At {
            run: 0,
            experiment: "tasks: old snapshot",
            case: "",
        };
        let span = bench.sizes.queue.snapshot;
        with(bench, at, entry, async |place| {
            under(entry, place, span).await
        })
        .await;
    }
    Ok(())
}

async fn under(entry: &'static Entry, place: &Place, span: Duration) -> Result<Figures> {
    let old = connect(place.url()).await?;
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class")
        .await?;
    let timed = [(ours::CLAIMS, "1".to_owned())];
    let crew = Crew::start(entry, place, CONCURRENCY, POOL, &timed).await?;
    sleep(Duration::from_secs(1)).await;
    let offer = words(["offer", &RATE.to_string(), &span.as_secs_f64().to_string()]);
    let began = now();
    tell(entry, place, &offer).await?;
    let ended = now();
    sleep(Duration::from_millis(500)).await;
    let said = crew.stop().await?;
    old.batch_execute("ROLLBACK").await?;

    let part = ((ended - began) as f64 * PART) as u64;
    let early = |spans: &[(u64, u64)]| -> Vec<(u64, u64)> {
        let early = spans.iter().filter(|(at, _)| *at < began + part);
        early.copied().collect()
    };
    let late = |spans: &[(u64, u64)]| -> Vec<(u64, u64)> {
        let late = spans
            .iter()
            .filter(|(at, _)| *at >= ended - part && *at < ended);
        late.copied().collect()
    };
    // In the last part of the time, since a queue that falls behind does so by and by.
    let ran = said.seen.iter().filter(|(at, took)| {
        let at = at + took;
        at >= ended - part && at < ended
    });
    let share = ran.count() as f64 / (RATE * part as f64 / 1e6);
    let mut figures = figures([
        ("of_offered", share),
        ("start_p50_ms", percentile_ms(&early(&said.seen), 0.5)),
        ("start_p99_ms", percentile_ms(&early(&said.seen), 0.99)),
        ("end_p50_ms", percentile_ms(&late(&said.seen), 0.5)),
        ("end_p99_ms", percentile_ms(&late(&said.seen), 0.99)),
    ]);
    if !said.claims.is_empty() {
        figures.extend(self::figures([
            (
                "claim_start_p99_ms",
                percentile_ms(&early(&said.claims), 0.99),
            ),
            ("claim_end_p99_ms", percentile_ms(&late(&said.claims), 0.99)),
        ]));
    }
    Ok(figures)
}
