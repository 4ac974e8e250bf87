//! The loads of the queue.

mod backlog;
mod crash;
mod idle;
mod latency;
mod layout;
mod snapshot;
mod throughput;

use anyhow::Result;

use crate::{
    bench::{At, Bench},
    results::Figures,
    statistics::percentile,
    tasks::{Entry, fleet::tell, place::Place},
};

pub(super) use self::{
    backlog::measure as backlog, crash::measure as crash, idle::measure as idle,
    latency::measure as latency, layout::measure as layout, snapshot::measure as snapshot,
    throughput::measure as throughput,
};

/// Does something with a queue in a database of its own, and notes what came of it.
async fn with<F>(bench: &Bench, at: At<'_>, entry: &'static Entry, work: F)
where
    F: AsyncFnOnce(&Place) -> Result<Figures>,
{
    bench
        .progress
        .set_message(format!("{} {}: {}", at.experiment, at.case, entry.name));
    let measured = async {
        let place = Place::new(bench, entry.store).await?;
        let measured = async {
            tell(entry, &place, &words(["setup"])).await?;
            work(&place).await
        };
        let measured = measured.await;
        place.remove().await?;
        measured
    };
    bench.settle_queue(at, entry, measured.await);
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}

/// The percentile of spans in microseconds, in milliseconds.
fn percentile_ms(spans: &[(u64, u64)], part: f64) -> f64 {
    let mut values: Vec<f64> = spans.iter().map(|(_, took)| *took as f64 / 1e3).collect();
    percentile(&mut values, part)
}
