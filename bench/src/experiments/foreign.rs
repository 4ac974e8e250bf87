//! Locks of other languages beside ours: every system in processes of its own, all told the same.

use std::time::Duration;

use anyhow::{Result, bail};
use futures_util::future::try_join_all;

use super::{
    contended::{SECTION, WAITERS},
    handoff, uncontended,
};
use crate::{
    bench::{At, Bench},
    clock::Moment,
    contend::{self, Plan, Turn},
    foreign::{
        Entry, Program, entries,
        report::{HANDOFF, ONE_PROCESS, PROCESSES, UNCONTENDED},
    },
    results::Figures,
    statistics::micros,
    worker::{Answer, Order, Worker},
};

/// Until every process and every thread is at the start.
const LEAD: Duration = Duration::from_millis(50);

/// Pairs before anything is measured: a JVM compiles with its last compiler what was called five thousand times
/// (`Tier4InvocationThreshold`).
const WARM: usize = 10_000;

/// How long that may take where a program is compiled while it runs, and where it was before.
const WARMING: Duration = Duration::from_secs(10);
const CONNECTING: Duration = Duration::from_millis(500);

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    let mut programs = vec![Program::Own];
    for program in Program::FOREIGN {
        bench.progress.set_message("building locks of others");
        match program.build().await {
            Ok(()) => programs.push(program),
            Err(error) => bench.fail(format!("locks of {program:?} are not measured: {error:#}")),
        }
    }
    for &store in &bench.stores {
        let here = entries(store).filter(|entry| programs.contains(&entry.program));
        let here: Vec<Entry> = here.collect();
        if here.iter().any(|entry| entry.program != Program::Own) {
            uncontended(bench, run, &here).await?;
            for entry in here.iter().filter(|entry| entry.waits) {
                one_process(bench, run, entry).await;
                processes(bench, run, entry).await;
                hand_off(bench, run, entry).await;
            }
        }
    }
    Ok(())
}

/// So many processes that have all opened one lock, and how often each has taken one before.
async fn crew(bench: &Bench, entry: &Entry, size: usize) -> Result<(Vec<Worker>, usize)> {
    let name = bench.name("crew");
    let warm = try_join_all((0..size).map(|_| async {
        let mut worker = entry.program.start()?;
        let own = bench.name("warm");
        open(bench, entry, &mut worker, &own).await?;
        let pairs = warm(entry.program, &mut worker).await?;
        open(bench, entry, &mut worker, &name).await?;
        Ok::<_, anyhow::Error>((worker, pairs))
    }))
    .await?;
    let least = warm.iter().map(|(_, pairs)| *pairs).min();
    let workers = warm.into_iter().map(|(worker, _)| worker).collect();
    Ok((workers, least.unwrap_or_default()))
}

async fn open(bench: &Bench, entry: &Entry, worker: &mut Worker, name: &str) -> Result<()> {
    worker
        .open(entry.store, entry.name, bench.places(), name)
        .await
}

/// Takes its lock again and again until that is as fast as it gets.
async fn warm(program: Program, worker: &mut Worker) -> Result<usize> {
    let patience = match program {
        Program::Java => WARMING,
        Program::Own | Program::Go => CONNECTING,
    };
    let (begin, mut pairs) = (Moment::now(), 0);
    while pairs < WARM && Moment::now().since(begin) < patience {
        pairs += turns(worker, CONNECTING / 2).await?.len();
    }
    Ok(pairs)
}

/// What one waiter went through in this time.
async fn turns(worker: &mut Worker, span: Duration) -> Result<Vec<Turn>> {
    let plan = Plan::soon(Duration::ZERO, span, Duration::ZERO);
    match worker.ask(&Order::Contend(plan)).await? {
        Answer::Waited { waiter, .. } => Ok(waiter.turns),
        answer => bail!("a worker answered {answer:?}"),
    }
}

/// All systems of a store in short turns.
async fn uncontended(bench: &Bench, run: u32, here: &[Entry]) -> Result<()> {
    let at = At {
        run,
        experiment: UNCONTENDED,
        case: "",
    };
    let mut series = Vec::new();
    for entry in here {
        say(bench, "uncontended", entry);
        match crew(bench, entry, 1).await {
            Ok((crew, pairs)) => series.push((entry, crew, pairs, Ok(Vec::new()))),
            Err(error) => bench.settle_as(at, entry.store, entry.name, Err(error)),
        }
    }
    for _ in 0..bench.sizes.turns {
        for (_, crew, _, measured) in &mut series {
            let (Some(worker), Ok(all)) = (crew.first_mut(), measured.as_mut()) else {
                continue;
            };
            match turns(worker, bench.sizes.turn).await {
                Ok(turns) => all.extend(turns),
                Err(error) => *measured = Err(error),
            }
        }
    }
    for (entry, _, pairs, measured) in series {
        let measured = measured.map(|turns| of_pairs(&turns, pairs));
        bench.settle_as(at, entry.store, entry.name, measured);
    }
    Ok(())
}

fn of_pairs(turns: &[Turn], warm: usize) -> Figures {
    let spans = |from: fn(&Turn) -> Duration| turns.iter().map(from).map(micros).collect();
    let acquires: Vec<f64> = spans(|turn| turn.granted.since(turn.asked));
    let releases: Vec<f64> = spans(|turn| turn.released.since(turn.releasing));
    let both = acquires.iter().zip(&releases);
    let pairs = both.map(|(acquire, release)| acquire + release).collect();
    let mut figures = uncontended::summary(acquires, releases, pairs);
    figures.insert("warm_pairs".to_owned(), warm as f64);
    figures
}

async fn one_process(bench: &Bench, run: u32, entry: &Entry) {
    say(bench, "8 waiters of one process", entry);
    contended(bench, run, entry, ONE_PROCESS, 1, bench.sizes.sections).await;
}

async fn processes(bench: &Bench, run: u32, entry: &Entry) {
    say(bench, "8 processes", entry);
    let span = bench.sizes.sections_across;
    contended(bench, run, entry, PROCESSES, WAITERS, span).await;
}

/// Waiters of so many processes on one name, with both sections.
async fn contended(
    bench: &Bench,
    run: u32,
    entry: &Entry,
    experiment: &str,
    processes: usize,
    sections: Duration,
) {
    let mut crew = crew(bench, entry, processes).await;
    let loads = [
        ("0 ms", Duration::ZERO, bench.sizes.empty_sections),
        ("5 ms", SECTION, sections),
    ];
    for (case, section, span) in loads {
        let measured = match &mut crew {
            Ok((crew, _)) => contend(bench, entry, crew, section, span).await,
            Err(error) => Err(anyhow::anyhow!("{error:#}")),
        };
        let at = At {
            run,
            experiment,
            case,
        };
        bench.settle_as(at, entry.store, entry.name, measured);
    }
}

async fn contend(
    bench: &Bench,
    entry: &Entry,
    crew: &mut [Worker],
    section: Duration,
    span: Duration,
) -> Result<Figures> {
    // A try of the load before that was cut off may hold the former name.
    let name = bench.name("contended");
    try_join_all(
        crew.iter_mut()
            .map(|worker| open(bench, entry, worker, &name)),
    )
    .await?;
    let tasks = WAITERS / crew.len();
    let plan = Plan::soon(LEAD, span, section);
    let order = Order::Crowd { plan, tasks };
    let mut waited = Vec::new();
    for answer in try_join_all(crew.iter_mut().map(|worker| worker.ask(&order))).await? {
        let Answer::Crowd(waiters) = answer else {
            bail!("a worker answered {answer:?}");
        };
        waited.extend(waiters);
    }
    Ok(contend::amount(&waited, plan, None))
}

async fn hand_off(bench: &Bench, run: u32, entry: &Entry) {
    say(bench, "hand-off", entry);
    let measured = async {
        let (pair, _) = crew(bench, entry, 2).await?;
        handoff::between(pair, bench.sizes.handoffs).await
    };
    let at = At {
        run,
        experiment: HANDOFF,
        case: "",
    };
    bench.settle_as(at, entry.store, entry.name, measured.await);
}

fn say(bench: &Bench, load: &str, entry: &Entry) {
    let (name, store) = (entry.name, entry.store);
    bench
        .progress
        .set_message(format!("{load}: {name} on {store}"));
}
