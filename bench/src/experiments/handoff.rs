//! From one process's release to the grant of another that has been waiting, and that nobody
//! competes with.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::sleep;

use super::processes::crew;
use crate::{
    bench::{At, Bench},
    clock::Moment,
    results::{Figures, figures},
    statistics::{median, millis, percentile},
    systems::Entry,
    worker::{Answer, Order, Worker},
};

/// How long the other one waits before the release: it has asked, and is asleep or listening. The
/// primes in between keep the release from falling into step with a poll.
const WAITS: [Duration; 5] = [
    Duration::from_millis(23),
    Duration::from_millis(41),
    Duration::from_millis(29),
    Duration::from_millis(37),
    Duration::from_millis(31),
];

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    for entry in bench.waiting() {
        bench
            .progress
            .set_message(format!("hand-off: {} on {}", entry.name, entry.store));
        let at = At {
            run,
            experiment: "hand-off",
            case: "",
        };
        bench.settle(at, entry, between_two(bench, entry).await);
    }
    Ok(())
}

async fn between_two(bench: &Bench, entry: &Entry) -> Result<Figures> {
    let name = bench.name("handoff");
    let pair = crew(bench, entry, &name, 2).await?;
    between(pair, bench.sizes.handoffs).await
}

/// Two processes that have opened one lock, for so long.
pub(super) async fn between(mut pair: Vec<Worker>, span: Duration) -> Result<Figures> {
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
