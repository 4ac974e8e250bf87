//! Some processes on one name, some tasks in each (W8).

use std::time::Duration;

use anyhow::{Result, bail};
use futures_util::future::try_join_all;

use crate::{
    bench::{At, Bench},
    contend::Plan,
    mixes::{self, EXPERIMENT, Mix},
    results::Figures,
    systems::{Entry, Store, ours::Waiting},
    worker::{Answer, Lease, Order, Worker},
};

/// Until every process has its order.
const LEAD: Duration = Duration::from_millis(50);

pub(super) async fn measure(bench: &Bench) -> Result<()> {
    for entry in bench.stores.iter().filter_map(|store| store.ours()) {
        for mix in &bench.sizes.mixes {
            for waiting in [Waiting::Called, Waiting::Polled] {
                // It has none that could be left out.
                if entry.store == Store::DynamoDb && matches!(waiting, Waiting::Called) {
                    continue;
                }
                let case = mix.case(waiting);
                bench
                    .progress
                    .set_message(format!("{case} on {}", entry.store));
                let at = At {
                    run: 0,
                    experiment: EXPERIMENT,
                    case: &case,
                };
                bench.settle(at, entry, contend(bench, entry, mix, waiting).await);
            }
        }
    }
    Ok(())
}

async fn contend(bench: &Bench, entry: &Entry, mix: &Mix, waiting: Waiting) -> Result<Figures> {
    let lease = Lease {
        store: entry.store,
        places: bench.places().clone(),
        name: bench.name("mix"),
        duration: bench.sizes.mix_lease,
        waiting,
    };
    let crew = mix.tasks.iter().map(|tasks| async {
        let mut worker = Worker::start()?;
        worker.ask(&Order::Join(lease.clone())).await?;
        Ok::<_, anyhow::Error>((worker, *tasks))
    });
    let mut crew = try_join_all(crew).await?;
    let plan = Plan::soon(LEAD, bench.sizes.mix, mix.section);
    let work = crew.iter_mut().map(|(worker, tasks)| {
        let order = Order::Crowd {
            plan,
            tasks: *tasks,
        };
        async move {
            match worker.ask(&order).await? {
                Answer::Crowd(waiters) => Ok(waiters),
                answer => bail!("a worker answered {answer:?}"),
            }
        }
    });
    let processes = try_join_all(work).await?;
    let bound = mix.bound(entry.store, waiting, lease.duration);
    Ok(mixes::amount(&processes, plan, bound))
}
