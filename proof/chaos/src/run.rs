//! The controller: it starts everything, lets the nemesis work, ends everything, and judges.

use std::{fmt, fs, io, net::SocketAddr, path::Path, time::Duration};

use clap::ValueEnum;
use dlock_core::provider::Discipline;
use dlock_proof::history::{Header, Line, Log, Micros, folder, keep, read_all};
use dlock_testkit::proxy::Proxy;
use tokio::time::Instant;

use crate::{
    cli::{Failure, Run},
    fleet::Fleet,
    limits::{RECOVERY, SLACK, TAKEOVER, until},
    nemesis::{BITTEN, Nemesis, Tally},
    orders::{Load, Orders},
    stalls::SlowAnswers,
    storage::Storage,
    store::{Kind, Place, Store, backend},
    tether::tethered,
    verdict::Figures,
    worker::{TASKS, task_name},
};

/// The locks that the workers compete for.
const LOCKS: [&str; 3] = ["door", "gate", "hatch"];

/// Ways to break the run itself. The run has to notice each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sabotage {
    /// The fenced storage accepts every token.
    Unfenced,
    /// The nemesis breaks nothing.
    Peaceful,
}

impl fmt::Display for Sabotage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unfenced => "unfenced",
            Self::Peaceful => "peaceful",
        })
    }
}

/// Runs, and prints the figures and the verdict. Returns whether it is good.
pub(crate) async fn run(arguments: &Run) -> Result<bool, Failure> {
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..));
    println!(
        "{} for {} s, seed {seed}",
        arguments.store, arguments.seconds
    );
    let files = tempfile::Builder::new().prefix("dlock-chaos-").tempdir()?;
    let act = act(arguments, seed, files.path());
    let mut figures = tethered(arguments.tethered, act).await?;
    let lines = history(files.path())?;
    figures.judge(&lines);
    println!("{figures}");
    let failed = !figures.is_good();
    if failed || arguments.keep {
        let name = format!("chaos-{}-{seed}", arguments.store);
        println!("{}", keep(folder(), &name, &lines)?);
    }
    Ok(!failed)
}

/// The whole run except the verdict.
async fn act(arguments: &Run, seed: u64, files: &Path) -> Result<Figures, Failure> {
    let log = Log::append(files.join("controller.jsonl"))?;
    log.header(header(arguments, "run", seed));
    let mut store = backend(arguments.store)?.start(files).await?;
    let place = store.place().to_string();
    let provider = backend(arguments.store)?.connect(&place).await?;
    let _slow = SlowAnswers::watch(&log, provider).await?;
    let checks = arguments.sabotage != Some(Sabotage::Unfenced);
    let storage = Storage::start(log.clone(), checks).await?;
    let template = Orders {
        name: String::new(),
        load: Load::Locks,
        store: arguments.store,
        place: String::new(),
        storage: storage.address(),
        history: files.to_owned(),
        seed,
        leases: arguments.leases.clone(),
        locks: LOCKS.map(str::to_owned).to_vec(),
        until: Micros::MAX,
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
        until: Instant::now() + Duration::from_secs(arguments.seconds),
    };
    if arguments.sabotage == Some(Sabotage::Peaceful) {
        tokio::time::sleep_until(nemesis.until).await;
    } else {
        strike(&nemesis, store.as_mut(), seed).await?;
    }
    let mut complaints = Vec::new();
    if !recovered(&fleet, &storage).await {
        complaints.push(format!(
            "not every worker had worked again {RECOVERY:?} after the last fault"
        ));
    }
    complaints.extend(fleet.end().await?);
    Ok(Figures {
        seconds: arguments.seconds,
        networked,
        blows: tally.counts(),
        struck: fleet.proxies().iter().map(Proxy::struck).sum(),
        complaints,
        ..Figures::default()
    })
}

/// All hands at once, until the time has passed and a scripted pause has bitten.
pub(crate) async fn strike(
    nemesis: &Nemesis<'_>,
    store: &mut dyn Store,
    seed: u64,
) -> Result<(), Failure> {
    let mut random = fastrand::Rng::with_seed(seed);
    let [workers, whole, wire, traps] = [(); 4].map(|()| random.fork());
    tokio::try_join!(
        nemesis.strike_workers(workers),
        nemesis.strike_store(store, whole),
        nemesis.strike_wire(wire),
        nemesis.set_traps(traps),
    )?;
    // Without other faults it bites, if ever.
    let patience = Instant::now() + 2 * TAKEOVER;
    while !nemesis.tally.counts().contains_key(BITTEN) && Instant::now() < patience {
        nemesis.set_trap().await?;
    }
    Ok(())
}

/// Every task of every worker has written again, and every lock was held again.
async fn recovered(fleet: &Fleet, storage: &Storage) -> bool {
    let mut tasks = Vec::new();
    for process in fleet.names().await {
        tasks.extend((0..TASKS).map(|number| task_name(&process, number)));
    }
    let locks = LOCKS.map(str::to_owned);
    storage.count_anew();
    until(RECOVERY, || storage.all_have_written(&tasks, &locks)).await
}

/// The time after which a server ends a connection whose client has gone silently. Until then a session of PostgreSQL
/// that waits for the rest of a message keeps its locks. Systems take two hours by default, longer than any run.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// The orders of that many workers, and the proxies between them and the store.
pub(crate) async fn orders(
    template: &Orders,
    workers: u8,
    place: &Place,
) -> io::Result<(Vec<Orders>, Vec<Proxy>)> {
    let mut random = fastrand::Rng::with_seed(!template.seed);
    let (mut orders, mut proxies) = (Vec::new(), Vec::new());
    for _ in 0..workers {
        let seed = random.u64(..);
        let place = match place {
            Place::File(_) => place.to_string(),
            Place::Server(server) => {
                let proxy = Proxy::seeded(*server, seed).await?;
                proxy.keepalive(KEEPALIVE);
                let address: SocketAddr = proxy.address();
                proxies.push(proxy);
                address.to_string()
            }
        };
        orders.push(Orders {
            place,
            seed,
            ..template.clone()
        });
    }
    Ok((orders, proxies))
}

pub(crate) fn header(arguments: &Run, part: &str, seed: u64) -> Header {
    let discipline = match arguments.store {
        Kind::Dynamodb | Kind::Etcd => Discipline::Observer,
        Kind::Postgres | Kind::Redis | Kind::Sqlite => Discipline::StoreClock,
    };
    let title = format!("chaos on {}", arguments.store);
    let mut header = Header::new(title, discipline, arguments.lease());
    let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    header.seed = Some(seed);
    header.command = arguments.command(part, seed);
    // The longest that any waiter of these leases sleeps, with or without wake-ups.
    header.poll =
        micros((arguments.lease() / 3).clamp(Duration::from_secs(1), Duration::from_secs(5)));
    header.slack = micros(SLACK);
    header
}

/// The history of all processes, merged.
pub(crate) fn history(files: &Path) -> Result<Vec<Line>, Failure> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(files)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(read_all(paths)?)
}
