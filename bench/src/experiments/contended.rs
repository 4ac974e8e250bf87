//! 8 tasks of one process on one name.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use tokio::task::JoinSet;

use crate::{
    bench::{At, Bench},
    contend::{self, Plan, Waiter},
    counters::{Server, counted},
    results::Figures,
    systems::System,
};

/// Waiters, as in every contended load.
pub(super) const WAITERS: usize = 8;

/// How long the holders keep the lock.
pub(super) const SECTION: Duration = Duration::from_millis(5);

/// Until everybody is at the start.
const LEAD: Duration = Duration::from_millis(20);

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    let loads = [
        ("0 ms", Duration::ZERO, bench.sizes.empty_sections),
        ("5 ms", SECTION, bench.sizes.sections),
    ];
    for (case, section, span) in loads {
        for entry in bench.waiting() {
            bench.progress.set_message(format!(
                "8 waiters of one process, {case}: {} on {}",
                entry.name, entry.store
            ));
            let measured = async {
                let system = bench.open(entry).await?;
                let mut server = Server::of(entry, bench.places()).await?;
                let name = bench.name("contended");
                crowd(&system, &mut server, &name, WAITERS, span, section).await
            };
            let at = At {
                run,
                experiment: "contended, one process",
                case,
            };
            bench.settle(at, entry, measured.await);
        }
    }
    Ok(())
}

/// So many tasks of this process on one name.
pub(super) async fn crowd(
    system: &Arc<dyn System>,
    server: &mut Server,
    name: &str,
    waiters: usize,
    span: Duration,
    section: Duration,
) -> Result<Figures> {
    let plan = Plan::soon(LEAD, span, section);
    let (waited, commands) = counted(server, async {
        let mut crowd = JoinSet::new();
        for _ in 0..waiters {
            let lock = system.lock(name)?;
            crowd.spawn(async move { contend::wait_in_turns(&*lock, plan).await });
        }
        let mut waited: Vec<Waiter> = Vec::new();
        while let Some(done) = crowd.join_next().await {
            waited.push(done??);
        }
        Ok(waited)
    })
    .await?;
    Ok(contend::amount(&waited, plan, Some(commands)))
}
