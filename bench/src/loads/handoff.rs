//! From one process's release to the grant of another one that has been waiting, without competitors.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::sleep;

use super::{Line, Load, Page, processes::crew};
use crate::{
    bench::{At, Bench},
    check::{Bound::Most, goal},
    clock::Moment,
    results::{Figures, figures},
    statistics::{median, millis, percentile},
    systems::{Entry, Store},
    worker::{Answer, Order},
};

pub(super) const PAGE: Page = Page {
    title: "Hand-off between two processes, from the release to the other's grant (ms)",
    columns: &[
        ("p50", "p50_ms"),
        ("p99", "p99_ms"),
        ("hand-offs", "handoffs"),
    ],
    lines: &[Line {
        what: "from a release to the next process's grant, ms",
        case: "",
        figure: "p50_ms",
        more: false,
    }],
    goals: &[
        goal(Store::Redis, "", "p99_ms", Most(5.0)),
        goal(Store::Postgres, "", "p99_ms", Most(5.0)),
        goal(Store::SQLite, "", "p99_ms", Most(20.0)),
    ],
};

/// How long the waiter waits before the release: it has asked, and now sleeps or listens. Primes
/// keep the release from falling into step with a poll.
const WAITS: [Duration; 5] = [
    Duration::from_millis(23),
    Duration::from_millis(41),
    Duration::from_millis(29),
    Duration::from_millis(37),
    Duration::from_millis(31),
];

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    let at = At {
        run,
        load: Load::Handoff,
        case: "",
    };
    for entry in bench.waiting() {
        bench.says(format!("hand-off: {} on {}", entry.name, entry.store));
        bench.settle(at, entry, between_two(bench, entry).await);
    }
    Ok(())
}

async fn between_two(bench: &Bench, entry: &Entry) -> Result<Figures> {
    let span = bench.size(Duration::from_millis(900), Duration::from_millis(300));
    let mut pair = crew(bench, entry, &bench.name("handoff"), 2).await?;
    let [one, other] = pair.as_mut_slice() else {
        bail!("a pair of {}", pair.len());
    };
    let (mut holder, mut waiter) = (one, other);
    holder.ask(&Order::Acquire).await?;
    let begin = Moment::now();
    let mut latencies = Vec::new();
    for wait in WAITS.into_iter().cycle() {
        waiter.tell(&Order::Acquire).await?;
        sleep(wait).await;
        let Answer::Released { called } = holder.ask(&Order::Release).await? else {
            bail!("a worker did not release");
        };
        let Answer::Granted(granted) = waiter.hear().await? else {
            bail!("a worker did not acquire");
        };
        latencies.push(millis(granted.since(called)));
        (holder, waiter) = (waiter, holder);
        if Moment::now().since(begin) >= span {
            break;
        }
    }
    Ok(figures([
        ("handoffs", latencies.len() as f64),
        ("p50_ms", median(&mut latencies)),
        ("p99_ms", percentile(&mut latencies, 0.99)),
    ]))
}
