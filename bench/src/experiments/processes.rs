//! 8 processes on one name, one waiter each.

use std::time::Duration;

use anyhow::{Result, bail};
use futures_util::future::try_join_all;

use super::contended::{SECTION, WAITERS};
use crate::{
    bench::{At, Bench},
    contend::{self, Plan},
    counters::{Server, counted},
    results::Figures,
    systems::Entry,
    worker::{Answer, Order, Worker},
};

/// Until every process has its order.
const LEAD: Duration = Duration::from_millis(50);

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    for entry in bench.waiting() {
        bench
            .progress
            .set_message(format!("8 processes: {} on {}", entry.name, entry.store));
        let loads = [
            ("0 ms", Duration::ZERO, bench.sizes.empty_sections),
            ("5 ms", SECTION, bench.sizes.sections_across),
        ];
        let name = bench.name("across");
        let crew = crew(bench, entry, &name, WAITERS).await;
        let mut crew = match crew {
            Ok(crew) => crew,
            Err(error) => {
                let at = At {
                    run,
                    experiment: "contended, 8 processes",
                    case: "",
                };
                bench.settle(at, entry, Err(error));
                continue;
            }
        };
        for (case, section, span) in loads {
            let measured = contend(bench, entry, &mut crew, span, section).await;
            let at = At {
                run,
                experiment: "contended, 8 processes",
                case,
            };
            bench.settle(at, entry, measured);
        }
    }
    Ok(())
}

/// Processes that have all opened one lock.
pub(super) async fn crew(
    bench: &Bench,
    entry: &Entry,
    name: &str,
    size: usize,
) -> Result<Vec<Worker>> {
    try_join_all((0..size).map(|_| async {
        let mut worker = Worker::start()?;
        worker
            .open(entry.store, entry.name, bench.places(), name)
            .await?;
        Ok::<_, anyhow::Error>(worker)
    }))
    .await
}

async fn contend(
    bench: &Bench,
    entry: &Entry,
    crew: &mut [Worker],
    span: Duration,
    section: Duration,
) -> Result<Figures> {
    let mut server = Server::of(entry, bench.places()).await?;
    let plan = Plan::soon(LEAD, span, section);
    let order = Order::Contend(plan);
    let work = try_join_all(crew.iter_mut().map(|worker| worker.ask(&order)));
    let (answers, mut commands) = counted(&mut server, work).await?;
    let mut waited = Vec::new();
    for answer in answers {
        let Answer::Waited { waiter, requests } = answer else {
            bail!("a worker answered {answer:?}");
        };
        waited.push(waiter);
        commands += requests;
    }
    Ok(contend::amount(&waited, plan, Some(commands)))
}
