//! `kill -9` of a worker, and when another one begins its task.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::{with, words};
use crate::{
    bench::{At, Bench},
    results::{Figures, figures},
    systems::Kind,
    tasks::{
        CONCURRENCY, Entry, POOL,
        driver::now,
        fleet::{Crew, tell},
        ours,
        place::Place,
    },
};

/// The lease.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

/// The worker lives so long: one heartbeat at a third of the lease has been applied, the next is not yet due.
const LIFE: Duration = Duration::from_millis(1500);

pub(crate) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    for entry in bench.queues().filter(|entry| entry.kind == Kind::Ours) {
        let at = At {
            run,
            experiment: "tasks: crash",
            case: "",
        };
        with(bench, at, entry, async |place| {
            take_over(entry, place).await
        })
        .await;
    }
    Ok(())
}

async fn take_over(entry: &'static Entry, place: &Place) -> Result<Figures> {
    let settings = [
        (ours::LEASE, LEASE.as_millis().to_string()),
        (ours::HOLD, "1".to_owned()),
    ];
    let mut first = Crew::start(entry, place, CONCURRENCY, POOL, &settings).await?;
    tell(entry, place, &words(["enqueue", "1"])).await?;
    first.began().await?;
    let mut second = Crew::start(entry, place, CONCURRENCY, POOL, &settings).await?;
    sleep(LIFE).await;
    let killed = now();
    first.kill().await?;
    let began = second.began().await?;
    second.kill().await?;
    let after = began.saturating_sub(killed);
    Ok(figures([("after_kill_ms", after as f64 / 1e3)]))
}
