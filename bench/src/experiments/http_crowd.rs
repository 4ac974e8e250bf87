//! Ten thousand clients of one server that wait or do nothing: what they cost it, and whether the renewals of a few
//! leases pass meanwhile.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use dlock_core::{
    Name, Provider,
    provider::{Acquire, AcquireOutcome},
};
use dlock_test_servers::Service;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::time::sleep;
use uuid::Uuid;

use crate::{
    account::{family_time, resident},
    bench::{At, Bench},
    clock::Moment,
    http::{
        CROWD, OURS,
        crowd::{Case, Part},
        keepers::Kept,
        server,
    },
    results::{Figures, figures},
    systems::{Store, ours},
    worker::{Answer, Order, Worker},
};

/// Clients of one process.
const PROCESS: usize = 2_500;

/// The leases that are renewed meanwhile.
const LEASES: usize = 64;
const LEASE: Duration = Duration::from_secs(3);

/// Longer than anything here: the leases of names that are waited for, which nobody renews.
const HELD: Duration = Duration::from_secs(600);

/// Connections and waits besides those of the crowd: who renews listens for hints, too, and that counts as a wait.
const OTHERS: usize = 200;

/// How long the leases are renewed before the crowd comes.
const QUIET: Duration = Duration::from_secs(2);

pub(super) async fn measure(bench: &Bench) -> Result<()> {
    for store in [Store::Postgres, Store::SQLite] {
        if !bench.stores.contains(&store) {
            continue;
        }
        for case in Case::all(bench.sizes.http.crowd) {
            let name = case.name();
            bench.progress.set_message(format!("{name}, on {store}"));
            let at = At {
                run: 0,
                experiment: CROWD,
                case: &name,
            };
            bench.settle_as(at, store, OURS, crowd(bench, store, case).await);
        }
    }
    Ok(())
}

async fn crowd(bench: &Bench, store: Store, case: Case) -> Result<Figures> {
    let server = start(bench, store, case).await?;
    let (port, pid) = (
        server.place().port(),
        server.place().pid().context("the server has ended")?,
    );
    let name = bench.name("crowd");
    hold(port, &name, case.names()).await?;

    let mut keeper = Worker::start()?;
    let kept = Kept {
        port,
        name: bench.name("kept"),
        leases: LEASES,
        duration: LEASE,
    };
    let Answer::Ready = keeper.ask(&Order::KeepMany(kept)).await? else {
        bail!("the leases were not taken");
    };
    sleep(QUIET).await;

    let (empty, used, began) = (resident(pid), family_time(pid), Moment::now());
    let mut crowd = Crowd::come(port, &name, case).await?;
    let arrival = Moment::now().since(began);
    let arriving = family_time(pid).saturating_sub(used);

    let before = crowd.count().await?;
    let of_the_store = bench.servers.processor_time(store);
    let (used, began) = (family_time(pid), Moment::now());
    sleep(bench.sizes.http.watch).await;
    let span = Moment::now().since(began).as_secs_f64();
    let used = family_time(pid).saturating_sub(used);
    let of_the_store = bench
        .servers
        .processor_time(store)
        .saturating_sub(of_the_store);
    let full = resident(pid);
    let after = crowd.count().await?;

    let Answer::Renewed(mut measured) = keeper.ask(&Order::EndKeeping).await? else {
        bail!("the leases were not renewed");
    };
    ensure!(
        server.place().exited().is_none(),
        "the server ended: {}",
        server.place().log()
    );
    crowd.leave().await?;
    keeper.kill().await?;
    let get = |figures: &Figures, name: &str| figures.get(name).copied().unwrap_or_default();
    let more = |name| get(&after, name) - get(&before, name);
    let bytes = full.saturating_sub(empty) as f64;
    measured.extend(figures([
        ("mib", full as f64 / 1024.0 / 1024.0),
        ("bytes_per_client", bytes / case.clients as f64),
        ("arrival_s", arrival.as_secs_f64()),
        ("arrival_cpu_s", arriving.as_secs_f64()),
        ("cpu_s", used.as_secs_f64()),
        ("cores", used.as_secs_f64() / span),
        ("cores_of_the_store", of_the_store.as_secs_f64() / span),
        ("span_s", span),
        ("waiting", get(&after, "waiting")),
        ("held_per_second", more("held") / span),
        ("refused_per_second", more("refused") / span),
        ("broken", get(&after, "broken")),
    ]));
    Ok(measured)
}

async fn start(bench: &Bench, store: Store, case: Case) -> Result<Service> {
    let room = case.roomy.then_some(case.clients + OTHERS);
    server::start(store, bench.places(), room).await
}

/// Takes so many names, which nobody renews.
async fn hold(port: u16, name: &str, names: usize) -> Result<()> {
    let provider = Arc::new(ours::http_provider(port).await?);
    let taking = stream::iter(0..names).map(|number| {
        let (provider, name) = (Arc::clone(&provider), Name::new(format!("{name}-{number}")));
        async move {
            let request = Acquire::new(name?, Uuid::new_v4(), HELD);
            match provider.acquire(&request).await? {
                AcquireOutcome::Acquired(_) => Ok(()),
                other => bail!("a new lock was answered {other:?}"),
            }
        }
    });
    taking.buffer_unordered(16).try_collect().await
}

/// The clients, in processes.
struct Crowd(Vec<Worker>);

impl Crowd {
    async fn come(port: u16, name: &str, case: Case) -> Result<Self> {
        let mut workers = Vec::new();
        for from in (0..case.clients).step_by(PROCESS) {
            let part = Part {
                port,
                from,
                to: case.clients.min(from + PROCESS),
                name: name.to_owned(),
                names: case.names(),
            };
            let mut worker = Worker::start()?;
            worker.tell(&Order::Come(part)).await?;
            workers.push(worker);
        }
        for worker in &mut workers {
            let Answer::Ready = worker.hear().await? else {
                bail!("the clients did not come");
            };
        }
        Ok(Self(workers))
    }

    async fn count(&mut self) -> Result<Figures> {
        let mut sum = Figures::new();
        for worker in &mut self.0 {
            let Answer::Counted(counted) = worker.ask(&Order::Count).await? else {
                bail!("the clients were not counted");
            };
            for (name, value) in counted {
                *sum.entry(name).or_default() += value;
            }
        }
        Ok(sum)
    }

    async fn leave(self) -> Result<()> {
        for worker in self.0 {
            worker.kill().await?;
        }
        Ok(())
    }
}
