//! A run: servers, every experiment in every run, results.

use std::{
    env, iter,
    process::ExitCode,
    time::{Duration, UNIX_EPOCH},
};

use anyhow::Result;
use clap::ValueEnum as _;
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    bench::Bench, check, cli::Order, clock::Moment, experiments::Experiment, machine::Machine,
    plots, report, results::Results, servers::Servers, sizes::Sizes, systems::Store, tasks,
};

pub(crate) async fn run(order: Order) -> Result<ExitCode> {
    let Order {
        only,
        stores,
        runs,
        mixes,
        mix_span,
        mix_lease,
        queues,
        queue_peers,
        snapshot_span,
        queue_tasks,
        quick,
        output,
        plots,
    } = order;
    let is_of_locks =
        |one: &Experiment| !one.is_of_the_queue() && !one.is_of_servers() && !one.is_foreign();
    let without_locks = !only.is_empty() && !only.iter().any(is_of_locks);
    let stores = if stores.is_empty() && without_locks {
        vec![Store::Postgres, Store::SQLite]
    } else if stores.is_empty() {
        Store::ALL.to_vec()
    } else {
        stores
    };
    let mut sizes = if quick {
        Sizes::quick()
    } else {
        Sizes::full(runs)
    };
    if !mixes.is_empty() {
        sizes.mixes = mixes;
    }
    if let Some(span) = mix_span {
        sizes.mix = Duration::from_secs(span);
    }
    if let Some(lease) = mix_lease {
        sizes.mix_lease = Duration::from_secs(lease);
    }
    if let Some(span) = snapshot_span {
        sizes.queue.snapshot = Duration::from_secs(span);
    }
    if let Some(tasks) = queue_tasks {
        sizes.queue.tasks = tasks;
    }
    let began = Moment::now();
    let machine = Machine::here();
    let steps = steps(&only, sizes.runs);
    let progress = ProgressBar::new(steps.len() as u64).with_style(ProgressStyle::with_template(
        "{bar:24} {pos}/{len} {elapsed} {wide_msg}",
    )?);
    progress.enable_steady_tick(Duration::from_millis(500));
    progress.set_message("starting servers");

    let servers = Servers::start(&stores).await?;
    let mut bench = Bench::new(servers, sizes.clone(), stores, progress.clone());
    bench.queues = queues;
    if queue_peers {
        bench.queue_peers = build_peers(&bench).await;
    }
    for (experiment, run) in steps {
        experiment.measure(&bench, run).await?;
        progress.inc(1);
    }
    progress.finish_and_clear();

    let (samples, failures) = bench.finish();
    let results = Results {
        // Where the program lies is nobody's business.
        command: iter::once("dlock-bench".to_owned())
            .chain(env::args().skip(1))
            .collect::<Vec<_>>()
            .join(" "),
        began: since_1970(),
        took_seconds: Moment::now().since(began).as_secs(),
        machine,
        sizes,
        failures,
        samples,
    };
    results.write(&output)?;
    print!("{}", report::render(&results));
    print!("{}", check::render(&results).0);
    if let Some(folder) = plots {
        plots::draw(&results, &folder)?;
    }
    println!("\nThe results are in {}.", output.display());
    // A figure that is missing is not a figure that was reached.
    Ok(if results.failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Builds the queues of others; those that can be run.
async fn build_peers(bench: &Bench) -> Vec<&'static str> {
    let (mut built, mut tried) = (Vec::new(), Vec::new());
    let peers = tasks::report::peers(Store::Postgres);
    let chosen = |name| bench.queues.is_empty() || bench.queues.iter().any(|one| one == name);
    for peer in peers.filter(|peer| chosen(peer.name)) {
        bench
            .progress
            .set_message(format!("building {}", peer.name));
        let place = peer.program.folder();
        let known = tried.iter().find(|(folder, _)| *folder == place);
        let works = match known {
            Some((_, works)) => *works,
            None => {
                let result = peer.program.build().await;
                let works = result.is_ok();
                if let Err(error) = result {
                    bench.fail(format!("{} is not measured: {error:#}", peer.name));
                }
                tried.push((place, works));
                works
            }
        };
        if works {
            built.push(peer.name);
        }
    }
    built
}

/// Every run measures everything that repeats; then comes what is measured once.
fn steps(only: &[Experiment], runs: u32) -> Vec<(Experiment, u32)> {
    let wanted = |experiment: &Experiment| {
        let all = if experiment.is_of_the_queue() {
            only.contains(&Experiment::Tasks)
        } else if experiment.is_of_servers() || experiment.is_foreign() {
            false
        } else {
            only.is_empty()
        };
        *experiment != Experiment::Tasks && (all || only.contains(experiment))
    };
    let all = Experiment::value_variants().iter().copied().filter(wanted);
    let (repeated, once): (Vec<_>, Vec<_>) = all.partition(|experiment| experiment.repeats());
    let mut steps = Vec::new();
    for run in 1..=runs {
        steps.extend(repeated.iter().map(|experiment| (*experiment, run)));
    }
    steps.extend(once.into_iter().map(|experiment| (experiment, 0)));
    steps
}

/// For people: when the figures were taken.
#[expect(
    clippy::disallowed_methods,
    reason = "the date of a report decides nothing about a lease"
)]
fn since_1970() -> u64 {
    let now = std::time::SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}
