//! What a worker asks of the server, and writes to its log, while there is nothing to do.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::{with, words};
use crate::{
    bench::{At, Bench},
    results::{Figures, figures},
    systems::Store,
    tasks::{
        CONCURRENCY, Entry, POOL,
        fleet::{Crew, tell},
        place::Place,
    },
};

/// How long a worker has for the ten tasks, in which it connects and prepares its statements.
const FINISH: Duration = Duration::from_secs(5);

/// How long the server has to come to rest after the last change. By then its background writer has noted which
/// transactions run: it looks 15 s after its last such record, and sleeps for 10 s at most while nothing happens
/// (`LOG_SNAPSHOT_INTERVAL_MS`, `HIBERNATE_FACTOR` in PostgreSQL's bgwriter.c).
const REST: Duration = Duration::from_secs(30);

pub(crate) async fn measure(bench: &Bench) -> Result<()> {
    for entry in bench.queues() {
        if entry.store != Store::Postgres {
            continue;
        }
        let at = At {
            run: 0,
            experiment: "tasks: idle",
            case: "",
        };
        let span = bench.sizes.queue.idle;
        with(bench, at, entry, async |place| {
            watch(entry, place, span).await
        })
        .await;
    }
    Ok(())
}

async fn watch(entry: &'static Entry, place: &Place, span: Duration) -> Result<Figures> {
    let crew = Crew::start(entry, place, CONCURRENCY, POOL, &[]).await?;
    tell(entry, place, &words(["enqueue", "10"])).await?;
    sleep(FINISH).await;
    place.vacuum().await?;
    sleep(REST).await;
    let before = place.counts().await?;
    sleep(span).await;
    let counted = place.counts().await?.since(before);
    crew.stop().await?;
    let seconds = span.as_secs_f64();
    Ok(figures([
        ("statements_per_second", counted.statements / seconds),
        ("wal_bytes_per_second", counted.wal_bytes / seconds),
    ]))
}
