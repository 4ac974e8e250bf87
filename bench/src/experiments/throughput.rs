//! Acquire and release by many tasks, each on a name of its own.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use tokio::task::JoinSet;

use crate::{
    bench::{At, Bench},
    clock::Moment,
    results::{Figures, figures},
    systems::System,
};

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    for &store in &bench.stores {
        for &tasks in &bench.sizes.tasks {
            bench
                .progress
                .set_message(format!("{tasks} tasks on {store}"));
            let case = format!("{tasks} tasks");
            for entry in bench.systems(store) {
                let at = At {
                    run,
                    experiment: "throughput",
                    case: &case,
                };
                let measured = async {
                    let system = bench.open(entry).await?;
                    crowd(bench, &system, tasks, bench.sizes.throughput).await
                };
                bench.settle(at, entry, measured.await);
            }
        }
    }
    Ok(())
}

async fn crowd(
    bench: &Bench,
    system: &Arc<dyn System>,
    tasks: usize,
    span: Duration,
) -> Result<Figures> {
    let name = bench.name("crowd");
    let mut crowd = JoinSet::new();
    let begin = Moment::now().after(Duration::from_millis(30));
    let end = begin.after(span);
    for task in 0..tasks {
        let lock = system.lock(&format!("{name}-{task}"))?;
        crowd.spawn(async move {
            // Connected, and the name is there.
            lock.acquire().await?.release().await?;
            begin.reached().await;
            let mut pairs = 0_u32;
            while Moment::now() < end {
                lock.acquire().await?.release().await?;
                // What ended after the end is not of this span.
                pairs += u32::from(Moment::now() < end);
            }
            Ok::<_, anyhow::Error>(pairs)
        });
    }
    let mut pairs = 0;
    while let Some(done) = crowd.join_next().await {
        pairs += done??;
    }
    Ok(figures([(
        "pairs_per_second",
        f64::from(pairs) / span.as_secs_f64(),
    )]))
}
