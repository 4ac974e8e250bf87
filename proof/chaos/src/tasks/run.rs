//! The controller of a run with tasks.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use dlock_proof::history::{Log, Micros, folder};
use dlock_tasks::{Payload, Task, TaskStore};
use dlock_testkit::proxy::Proxy;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{
    LIMIT, LIMITED,
    database::{self, QueueDatabase},
    evidence::{Evidence, all},
    payload::JobPayload,
    verdict::Figures,
    worker::task,
};
use crate::{
    cli::{Failure, Run},
    fleet::Fleet,
    limits::RECOVERY,
    nemesis::{Nemesis, Tally},
    orders::{Load, Orders},
    run::{Sabotage, header, history, orders, strike},
    storage::Storage,
    store::{Kind, backend},
    tether::tethered,
};

/// Runs, and prints the figures and the verdict. Returns whether it is good.
pub(crate) async fn run(arguments: &Run) -> Result<bool, Failure> {
    match arguments.store {
        #[cfg(feature = "postgres")]
        Kind::Postgres => run_on::<database::PostgresShop>(arguments).await,
        #[cfg(feature = "sqlite")]
        Kind::Sqlite => run_on::<database::SqliteShop>(arguments).await,
        other => Err(format!("{other} has no queue, or was not built in").into()),
    }
}

async fn run_on<S: QueueDatabase>(arguments: &Run) -> Result<bool, Failure> {
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..));
    println!(
        "tasks on {} for {} s, seed {seed}",
        arguments.store, arguments.seconds
    );
    let files = tempfile::Builder::new().prefix("dlock-chaos-").tempdir()?;
    let act = act::<S>(arguments, seed, files.path());
    let (figures, evidence) = tethered(arguments.tethered, act).await?;
    println!("{figures}");
    let failed = !figures.is_good();
    if failed || arguments.keep {
        println!("again: {}", arguments.command("tasks", seed));
        let path = folder().join(format!("tasks-{}-{seed}.notes", arguments.store));
        fs::create_dir_all(folder())?;
        let lines = evidence.notes.iter().map(serde_json::to_string);
        fs::write(&path, lines.collect::<Result<Vec<_>, _>>()?.join("\n"))?;
        println!("notes: {}", path.display());
    }
    Ok(!failed)
}

/// The whole run, including the verdict.
async fn act<S: QueueDatabase>(
    arguments: &Run,
    seed: u64,
    files: &Path,
) -> Result<(Figures, Evidence), Failure> {
    let log = Log::append(files.join("controller.jsonl"))?;
    log.header(header(arguments, "tasks", seed));
    let mut store = backend(arguments.store)?.start(files).await?;
    let place = store.place().to_string();
    let shop = S::create(&place).await?;
    shop.tasks().set_limit(LIMITED, Some(LIMIT)).await?;
    let checks = arguments.sabotage != Some(Sabotage::Unfenced);
    let storage = Storage::start(log.clone(), checks).await?;
    let time = Duration::from_secs(arguments.seconds);
    let template = Orders {
        name: String::new(),
        load: Load::Tasks,
        store: arguments.store,
        place: String::new(),
        storage: storage.address(),
        history: files.to_owned(),
        seed,
        leases: arguments.leases.clone(),
        locks: Vec::new(),
        until: log.now() + Micros::try_from(time.as_micros())?,
    };
    let (orders, proxies) = orders(&template, arguments.workers, &store.place()).await?;
    let networked = !proxies.is_empty();
    let fleet = Fleet::start(orders, proxies, files, &log)?;
    let tally = Tally::default();
    let nemesis = Nemesis {
        fleet: &fleet,
        storage: &storage,
        log: &log,
        tally: &tally,
        lease: arguments.lease(),
        until: Instant::now() + time,
    };
    let (over, faults) = watch::channel(false);
    let customer = tokio::spawn(enqueue(shop.tasks(), seed, faults));
    if arguments.sabotage == Some(Sabotage::Peaceful) {
        tokio::time::sleep_until(nemesis.until).await;
    } else {
        strike(&nemesis, store.as_mut(), seed).await?;
    }
    over.send_replace(true);
    let cancelled = customer.await?;
    let mut complaints = Vec::new();
    if !all_ended(&shop.tasks()).await {
        complaints.push(format!(
            "not every task has ended {RECOVERY:?} after the last fault"
        ));
    }
    complaints.extend(fleet.end().await?);
    let evidence = Evidence::gather(&shop, files, &history(files)?, cancelled).await?;
    let mut figures = Figures {
        seconds: arguments.seconds,
        networked,
        blows: tally.counts(),
        struck: fleet.proxies().iter().map(Proxy::struck).sum(),
        complaints,
        ..Figures::default()
    };
    figures.judge(&evidence);
    Ok((figures, evidence))
}

/// A customer whom no fault of a worker touches: it enqueues until the faults have ended, and cancels some tasks.
/// Returns the tasks that it wanted cancelled.
async fn enqueue(tasks: impl TaskStore, seed: u64, over: watch::Receiver<bool>) -> BTreeSet<i64> {
    let mut random = fastrand::Rng::with_seed(seed.rotate_left(17));
    let mut cancelled = BTreeSet::new();
    while !*over.borrow() {
        let errand = JobPayload::drawn(1000, &mut random);
        let enqueued = match task(&errand, &mut random) {
            Some(task) => tasks.enqueue(&[task]).await,
            None => Ok(Vec::new()),
        };
        sleep(Duration::from_millis(random.u64(..60))).await;
        if let Ok([enqueued]) = enqueued.as_deref()
            && random.u32(..12) == 0
        {
            cancelled.insert(enqueued.id().get());
            drop(tasks.cancel(enqueued.id(), random.bool()).await);
        }
    }
    cancelled
}

/// Whether every errand ends in time.
async fn all_ended(tasks: &impl TaskStore) -> bool {
    let deadline = Instant::now() + RECOVERY;
    while Instant::now() < deadline {
        if let Ok(all) = all(tasks).await {
            let open = |task: &Task| task.kind == JobPayload::KIND && !task.state.has_ended();
            if !all.iter().any(open) {
                return true;
            }
        }
        sleep(Duration::from_millis(200)).await;
    }
    false
}
