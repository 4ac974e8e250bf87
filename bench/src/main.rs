//! Measures dlock next to the raw calls of its stores, handwritten locks and its peers, in one run on the same
//! servers. `BENCHMARKS.md` shows the figures.

mod account;
mod bench;
mod check;
mod cli;
mod clock;
mod contend;
mod counters;
mod dlock_server;
mod loads;
mod machine;
mod medians;
mod queues;
mod relay;
mod report;
mod results;
mod run;
mod servers;
mod statistics;
mod systems;
mod table;
mod worker;

use std::{fs, process::ExitCode};

use anyhow::Result;
use clap::Parser as _;
use tokio::runtime::Builder;

use crate::{
    cli::{Cli, Command},
    results::Results,
};

fn main() -> ExitCode {
    if dlock_server::is_the_program() {
        return ::dlock_server::program::main();
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
    let code = match command {
        Command::Run(order) => Builder::new_multi_thread()
            .enable_all()
            .build()?
            .block_on(run::run(order))?,
        Command::Check { file } => {
            let (text, holds) = check::render(&Results::read(&file)?);
            print!("{text}");
            if holds {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Command::Render { files, into } => {
            let runs = files.iter().map(|file| Results::read(file));
            let runs = runs.collect::<Result<Vec<_>>>()?;
            match into {
                Some(page) => {
                    let text = fs::read_to_string(&page)?;
                    fs::write(&page, report::insert(&runs, &text)?)?;
                }
                None => print!("{}", report::render(&runs)),
            }
            ExitCode::SUCCESS
        }
        Command::Worker { threads } => {
            let mut runtime = if threads {
                Builder::new_multi_thread()
            } else {
                Builder::new_current_thread()
            };
            runtime.enable_all().build()?.block_on(worker::serve())?;
            ExitCode::SUCCESS
        }
        Command::Dynamodb { port } => {
            let mut runtime = Builder::new_multi_thread();
            let runtime = runtime.worker_threads(2).enable_all().build()?;
            runtime.block_on(servers::serve_dynamodb(port))?;
            ExitCode::SUCCESS
        }
    };
    Ok(code)
}
