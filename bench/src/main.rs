//! Measures dlock beside the raw calls of its stores, the locks one writes by hand and its peers, all
//! in one run on the same servers. `BENCHMARKS.md` says what the figures mean.

mod account;
mod bench;
mod check;
mod cli;
mod clock;
mod contend;
mod counters;
mod experiments;
mod foreign;
mod http;
mod layers;
mod machine;
mod medians;
mod mixes;
mod paper;
mod peers;
mod plots;
mod relay;
mod report;
mod results;
mod run;
mod servers;
mod sizes;
mod statistics;
mod summary;
mod systems;
mod table;
mod tasks;
mod worker;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;
use tokio::runtime::Builder;

use crate::{
    cli::{Cli, Command},
    results::Results,
};

fn main() -> ExitCode {
    if http::server::is_the_program() {
        return dlock_server::program::main();
    }
    match obey(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("dlock-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn obey(command: Command) -> Result<ExitCode> {
    match command {
        Command::Run(order) => Builder::new_multi_thread()
            .enable_all()
            .build()?
            .block_on(run::run(order)),
        Command::Report { files, into, plots } => {
            let results = Results::together(&files)?;
            match into {
                Some(document) => {
                    let text = std::fs::read_to_string(&document)?;
                    std::fs::write(&document, report::insert(&results, &text)?)?;
                }
                None => print!("{}", report::render(&results)),
            }
            if let Some(folder) = plots {
                plots::draw(&results, &folder)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Check { file } => {
            let results = Results::read(&file)?;
            let (text, reached) = check::render(&results);
            print!("{text}");
            Ok(if reached {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
        // One thread: eight of these share the machine.
        Command::Worker => Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(worker::serve())
            .map(|()| ExitCode::SUCCESS),
        // As many threads as a user's program has.
        Command::Queue { queue, words } => Builder::new_multi_thread()
            .enable_all()
            .build()?
            .block_on(tasks::serve(&queue, &words))
            .map(|()| ExitCode::SUCCESS),
        Command::Dynamodb { port } => Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?
            .block_on(servers::serve_dynamodb(port))
            .map(|()| ExitCode::SUCCESS),
    }
}
