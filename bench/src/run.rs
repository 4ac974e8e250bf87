//! A run: servers, every load in every run, results.

use std::{env, iter, process::ExitCode, time::Duration};

use anyhow::Result;
use clap::ValueEnum as _;
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    bench::Bench,
    check,
    cli::Order,
    clock::Moment,
    loads::Load,
    machine::{Machine, said},
    report,
    results::Results,
    servers::Servers,
    systems::Store,
};

pub(crate) async fn run(order: Order) -> Result<ExitCode> {
    let Order {
        only,
        mut stores,
        runs,
        variant,
        quick,
        output,
    } = order;
    if stores.is_empty() {
        stores = Store::value_variants().to_vec();
    }
    let began = Moment::now();
    let runs = if quick { 1 } else { runs };
    let steps = steps(&only, runs);
    let progress = ProgressBar::new(steps.len() as u64).with_style(ProgressStyle::with_template(
        "{bar:24} {pos}/{len} {elapsed} {wide_msg}",
    )?);
    progress.enable_steady_tick(Duration::from_millis(500));
    progress.set_message("starting servers");
    let machine = Machine::here();
    let mut servers = Servers::start(&stores).await?;
    servers.places.lease = variant.lease.map(Duration::from_secs);
    let bench = Bench::new(servers, stores, variant, quick, progress.clone());
    for (load, run) in steps {
        load.measure(&bench, run).await?;
        progress.inc(1);
    }
    progress.finish_and_clear();

    let (samples, failures) = bench.finish();
    let results = Results {
        // Without the program's path.
        command: iter::once("dlock-bench".to_owned())
            .chain(env::args().skip(1))
            .collect::<Vec<_>>()
            .join(" "),
        date: said("date", &["-u", "+%Y-%m-%d"]),
        took_seconds: Moment::now().since(began).as_secs(),
        runs,
        machine,
        failures,
        samples,
    };
    results.write(&output)?;
    let failed = !results.failures.is_empty();
    let checked = check::render(&results).0;
    print!("{}\n{checked}", report::render(&[results]));
    println!("\nThe results are in {}.", output.display());
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Every run measures every load that repeats; then comes the one that is measured once.
fn steps(only: &[Load], runs: u32) -> Vec<(Load, u32)> {
    let wanted = |load: &Load| only.is_empty() || only.contains(load);
    let all = Load::value_variants().iter().copied().filter(wanted);
    let (repeated, once): (Vec<_>, Vec<_>) = all.partition(|load| load.repeats());
    let mut steps = Vec::new();
    for run in 1..=runs {
        steps.extend(repeated.iter().map(|load| (*load, run)));
    }
    steps.extend(once.into_iter().map(|load| (load, 0)));
    steps
}
