//! What a claim costs with few tasks in the queue, and with very many. They are written behind the queue's back.

use std::time::Duration;

use anyhow::Result;
use dlock_sqlite::tasks::SqliteTasks;
use dlock_tasks::{Claim, Ending, How, NewTask, TaskStore};
use serde_json::Value;
use uuid::Uuid;

use super::with;
use crate::{
    bench::{At, Bench},
    clock::Moment,
    results::{Figures, figures},
    statistics::{micros, percentile},
    systems::{Kind, Store},
    tasks::{
        Entry, POOL,
        ours::{self, SQLITE},
        place::Place,
    },
};

/// Tasks of a claim, and how many claims are measured.
const MOST: usize = 10;
const CLAIMS: usize = 90;

pub(crate) async fn measure(bench: &Bench) -> Result<()> {
    for entry in bench.queues().filter(|entry| entry.kind == Kind::Ours) {
        for &tasks in &bench.sizes.queue.backlog {
            let at = At {
                run: 0,
                experiment: "tasks: backlog",
                case: &tasks.to_string(),
            };
            with(bench, at, entry, async |place| {
                with_backlog(entry, place, tasks).await
            })
            .await;
        }
    }
    Ok(())
}

/// Our queue, in this process.
pub(super) fn store(place: &Place) -> Result<Box<dyn TaskStore>> {
    Ok(match place.url().strip_prefix(SQLITE) {
        Some(file) => Box::new(SqliteTasks::open(file)?),
        None => Box::new(ours::postgres(place.url(), u32::try_from(POOL)?)?),
    })
}

/// Makes copies of the one task that is there, so that there are so many; the last with priority 9 if `spread`, and
/// all others evenly among the ten.
pub(super) async fn fill(entry: &Entry, place: &Place, tasks: usize, priority: &str) -> Result<()> {
    let columns = "queue, priority, run_at, attempt, max_attempts, kind, key, payload, errors, created, checkpoint, \
        checkpoints, token";
    let values = columns.replacen("priority", priority, 1);
    let sql = match entry.store {
        Store::SQLite => format!(
            "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {tasks}) \
             INSERT INTO dlock_task ({columns}) SELECT {values} FROM dlock_task, n"
        ),
        _ => format!(
            "INSERT INTO dlock.dlock_task ({columns}) SELECT {values} FROM dlock.dlock_task, \
             generate_series(2, {tasks}) AS n (i); ANALYZE"
        ),
    };
    place.execute(&sql).await
}

async fn with_backlog(entry: &'static Entry, place: &Place, tasks: usize) -> Result<Figures> {
    let store = store(place)?;
    store
        .enqueue(&[NewTask::builder().kind("noop").build()])
        .await?;
    fill(entry, place, tasks, "priority").await?;
    let mut took = claims(&*store, CLAIMS).await?;
    Ok(figures([
        ("claim_first_us", took.first().copied().unwrap_or(f64::NAN)),
        ("claim_p50_us", percentile(&mut took, 0.5)),
        ("claim_p99_us", percentile(&mut took, 0.99)),
    ]))
}

/// Claims and completes, one after the other; how long each claim took.
pub(super) async fn claims(store: &dyn TaskStore, number: usize) -> Result<Vec<f64>> {
    let mut took = Vec::new();
    for _ in 0..number {
        let claim = Claim::new("default", Uuid::new_v4(), Duration::from_secs(30)).max(MOST);
        let began = Moment::now();
        let claimed = store.claim(&claim).await?;
        took.push(micros(Moment::now().since(began)));
        anyhow::ensure!(claimed.tasks.len() == MOST, "a claim found too few tasks");
        let endings: Vec<Ending> = claimed
            .tasks
            .iter()
            .map(|task| Ending::new(task.key, How::Complete(Value::Null)))
            .collect();
        store.finish(&endings).await?;
    }
    Ok(took)
}
