//! Many tasks that do nothing: how many are enqueued and run in a second, and what each costs the server. The time of
//! a run begins when the first worker has begun and ends when the last task has ended in the database.

use std::time::Duration;

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use tokio::time::sleep;

use super::{with, words};
use crate::{
    bench::{At, Bench},
    clock::Moment,
    results::{Figures, figures},
    systems::Store,
    tasks::{
        CONCURRENCY, Entry, POOL,
        fleet::{Crew, tell},
        place::Place,
    },
};

/// No queue takes longer.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    for processes in [1, 4] {
        let case = match processes {
            1 => "1 process".to_owned(),
            _ => format!("{processes} processes"),
        };
        for entry in bench.queues() {
            let at = At {
                run,
                experiment: "tasks: throughput",
                case: &case,
            };
            let tasks = bench.sizes.queue.tasks;
            with(bench, at, entry, async |place| {
                through(entry, place, tasks, processes).await
            })
            .await;
        }
    }
    Ok(())
}

async fn through(
    entry: &'static Entry,
    place: &Place,
    tasks: usize,
    processes: usize,
) -> Result<Figures> {
    let number = tasks as f64;
    let before = place.counts().await?;
    let enqueued = tell(entry, place, &words(["enqueue", &tasks.to_string()])).await?;
    let enqueueing = place.counts().await?.since(before);
    if entry.store == Store::Postgres {
        // What autovacuum would have done by and by.
        place.execute("ANALYZE").await?;
    }

    let before = place.counts().await?;
    // At the same time: some programs take long to start.
    let starting = (0..processes).map(|_| Crew::start(entry, place, CONCURRENCY, POOL, &[]));
    let crews = try_join_all(starting).await?;
    let ran = || crews.iter().map(Crew::ran).sum::<u64>() as f64;
    let begin = Moment::now();
    while ran() < number {
        ensure!(
            Moment::now().since(begin) < PATIENCE,
            "{} of {tasks} tasks ran in {PATIENCE:?}",
            ran()
        );
        sleep(Duration::from_millis(1)).await;
    }
    let running = place.counts().await?.since(before);
    while place.pending(entry).await? > 0 {
        ensure!(
            Moment::now().since(begin) < PATIENCE,
            "some tasks do not end"
        );
        sleep(Duration::from_millis(1)).await;
    }
    let end = Moment::now();
    let wal = place.counts().await?.since(before).wal_bytes;
    let firsts = crews.iter().filter_map(Crew::first);
    let first = firsts.min_by_key(|(moment, _)| *moment);
    let (began, already) = first.map_or((begin, 0.0), |(moment, ran)| (moment, ran as f64));
    for crew in crews {
        crew.stop().await?;
    }
    let mut figures = figures([
        ("enqueued_per_second", number / enqueued),
        (
            "run_per_second",
            (number - already) / end.since(began).as_secs_f64(),
        ),
    ]);
    if entry.store == Store::Postgres {
        figures.extend(self::figures([
            ("enqueue_wal_bytes", enqueueing.wal_bytes / number),
            ("run_wal_bytes", wal / number),
            ("wal_bytes", (enqueueing.wal_bytes + wal) / number),
            (
                "statements",
                (enqueueing.statements + running.statements) / number,
            ),
        ]));
    }
    Ok(figures)
}
