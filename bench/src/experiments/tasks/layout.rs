//! What decided how the queue lies in PostgreSQL: the share of updates that touch no index, by fillfactor; a claim
//! behind very many dead entries; and ten priorities beside one.

use std::time::Duration;

use anyhow::{Context as _, Result};
use dlock_core::{Name, provider::Renew};
use dlock_tasks::{Claim, NewTask};
use tokio::time::sleep;
use uuid::Uuid;

use super::{
    backlog::{claims, fill, store},
    with,
};
use crate::{
    bench::{At, Bench},
    clock::Moment,
    results::{Figures, figures},
    statistics::{micros, percentile},
    systems::{Kind, Store},
    tasks::{
        Entry,
        place::{Place, connect},
    },
};

const LEASE: Duration = Duration::from_secs(300);

/// How long the server may take to count.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn measure(bench: &Bench) -> Result<()> {
    let Some(entry) = bench
        .queues()
        .find(|entry| entry.kind == Kind::Ours && entry.store == Store::Postgres)
    else {
        return Ok(());
    };
    let at = |experiment, case| At {
        run: 0,
        experiment,
        case,
    };
    let sizes = &bench.sizes.queue;
    for fillfactor in ["35", "50", "70", "100"] {
        with(
            bench,
            at("tasks: updates", fillfactor),
            entry,
            async |place| updates(entry, place, fillfactor, sizes.updates).await,
        )
        .await;
    }
    let dead = sizes.dead.to_string();
    with(
        bench,
        at("tasks: dead entries", &dead),
        entry,
        async |place| behind_dead(entry, place, sizes.dead).await,
    )
    .await;
    for (case, priority) in [
        ("all of priority 5", "5"),
        ("all of priority 9", "9"),
        ("ten priorities", "n.i % 10"),
    ] {
        with(bench, at("tasks: priorities", case), entry, async |place| {
            priorities(entry, place, priority).await
        })
        .await;
    }
    Ok(())
}

/// A claim and two heartbeats for each task.
async fn updates(entry: &Entry, place: &Place, fillfactor: &str, tasks: usize) -> Result<Figures> {
    place
        .execute(&format!(
            "ALTER TABLE dlock.dlock_task SET (fillfactor = {fillfactor})"
        ))
        .await?;
    let store = store(place)?;
    store
        .enqueue(&[NewTask::builder().kind("noop").build()])
        .await?;
    fill(entry, place, tasks, "priority").await?;
    let mut keys = Vec::new();
    while keys.len() < tasks {
        let claim = Claim::new("default", Uuid::new_v4(), LEASE).max(100);
        let claimed = store.claim(&claim).await?.tasks;
        anyhow::ensure!(!claimed.is_empty(), "{} of {tasks} tasks", keys.len());
        keys.extend(claimed.into_iter().map(|task| task.key));
    }
    let provider = store.claims();
    for number in 1..=2 {
        for keys in keys.chunks(100) {
            let renewals = keys.iter().map(|key| {
                let name = Name::new(key.name().to_string())?;
                Ok(Renew::new(name, key.uuid, number))
            });
            let renewals: Vec<Renew> = renewals.collect::<Result<_>>()?;
            for renewed in provider.renew_many(&renewals).await {
                renewed?;
            }
        }
    }
    // A session tells what it has done when it has been idle for ten seconds.
    let counts =
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'dlock_task'";
    let begin = Moment::now();
    let (all, hot) = loop {
        let row = place.client()?.query_one(counts, &[]).await?;
        let (all, hot): (i64, i64) = (row.get(0), row.get(1));
        if all >= i64::try_from(3 * tasks)? {
            break (all, hot);
        }
        anyhow::ensure!(
            Moment::now().since(begin) < PATIENCE,
            "the server counted {all} updates of {tasks} tasks"
        );
        sleep(Duration::from_millis(200)).await;
    };
    Ok(figures([
        ("updates", all as f64),
        ("hot_share", hot as f64 / all as f64),
    ]))
}

/// The first claim, which looks from the beginning, and those that know where it has been.
async fn behind_dead(entry: &Entry, place: &Place, dead: usize) -> Result<Figures> {
    let tasks = store(place)?;
    tasks
        .enqueue(&[NewTask::builder().kind("noop").build()])
        .await?;
    fill(entry, place, dead, "priority").await?;
    // What it sees may not be cleaned up.
    let old = connect(place.url()).await?;
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class")
        .await?;
    place.execute("DELETE FROM dlock.dlock_task").await?;
    tasks
        .enqueue(&vec![NewTask::builder().kind("noop").build(); 1000])
        .await?;
    let mut took = claims(&*tasks, 50).await?;
    let first = *took.first().context("no claim")?;
    old.batch_execute("ROLLBACK").await?;
    took.remove(0);
    Ok(figures([
        ("claim_from_the_beginning_us", first),
        ("claim_p50_us", percentile(&mut took, 0.5)),
    ]))
}

async fn priorities(entry: &Entry, place: &Place, priority: &str) -> Result<Figures> {
    let tasks = store(place)?;
    tasks
        .enqueue(&[NewTask::builder().kind("noop").build()])
        .await?;
    fill(entry, place, 5000, priority).await?;
    let mut took = claims(&*tasks, 200).await?;
    let began = Moment::now();
    let nothing = Claim::new("another", Uuid::new_v4(), LEASE).max(10);
    tasks.claim(&nothing).await?;
    let empty = micros(Moment::now().since(began));
    Ok(figures([
        ("claim_p50_us", percentile(&mut took, 0.5)),
        ("empty_us", empty),
    ]))
}
