//! `kill -9` of a holder, and when a waiter of another process gets the lock: on all stores at the same time, since all
//! the processes do is wait.

use std::{convert::Infallible, time::Duration};

use anyhow::{Context, Result, bail};
use futures_util::future::join_all;
use tokio::time::sleep;

use super::{Line, Load, Page};
use crate::{
    bench::{At, Bench},
    check::{Bound::Most, goal},
    clock::Moment,
    results::{Figures, figures},
    statistics::millis,
    systems::{Entry, Store},
    worker::{Answer, Lease, Order, Worker},
};

pub(super) const PAGE: Page = Page {
    title: "Takeover after kill -9, lease of 3 s (ms)",
    columns: &[("after the last renewal", FIGURE)],
    lines: &[Line {
        what: "takeover after kill -9, lease of 3 s, ms",
        case: "",
        figure: FIGURE,
        more: false,
    }],
    // On DynamoDB the waiter sees the end of the lease at its next poll, a tenth of the lease later.
    goals: &[
        goal(Store::Redis, "", FIGURE, Most(3_100.0)),
        goal(Store::Postgres, "", FIGURE, Most(3_100.0)),
        goal(Store::SQLite, "", FIGURE, Most(3_100.0)),
        goal(Store::DynamoDb, "", FIGURE, Most(3_400.0)),
    ],
};

const FIGURE: &str = "after_last_renewal_ms";

/// The lease.
const DURATION: Duration = Duration::from_secs(3);

/// How long the holder lives: one renewal at a third of the lease has been applied, the next is not
/// yet due.
const LIFE: Duration = Duration::from_millis(1500);

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    bench.says("takeover of killed holders".to_owned());
    let all = bench
        .ours()
        .map(|entry| async move { (entry, take_over(bench, entry).await) });
    for (entry, measured) in join_all(all).await {
        let at = At {
            run,
            load: Load::Takeover,
            case: "",
        };
        bench.settle(at, entry, measured);
    }
    Ok(())
}

async fn take_over(bench: &Bench, entry: &Entry) -> Result<Figures> {
    let lease = Lease {
        store: entry.store,
        places: bench.places().clone(),
        name: bench.name("takeover"),
        duration: DURATION,
    };
    let mut holder = Worker::start()?;
    holder.tell(&Order::Keep(lease.clone())).await?;
    let Answer::Sent(mut last) = holder.hear().await? else {
        bail!("the holder did not say that it has the lock");
    };
    let mut waiter = Worker::start()?;
    waiter.tell(&Order::Await(lease)).await?;

    tokio::select! {
        never = listen(&mut holder, &mut last) => match never.context("the holder")? {},
        () = sleep(LIFE) => {}
    }
    holder.kill().await?;
    let Answer::Granted(granted) = waiter.hear().await? else {
        bail!("the waiter did not get the lock");
    };
    Ok(figures([(FIGURE, millis(granted.since(last)))]))
}

/// Keeps the last renewal that the holder reported. If it was killed before it could report a later one, the
/// takeover only looks later than it was.
async fn listen(holder: &mut Worker, last: &mut Moment) -> Result<Infallible> {
    loop {
        if let Answer::Sent(sent) = holder.hear().await? {
            *last = sent;
        }
    }
}
