//! The command line.

use std::{process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};

use crate::{
    orders::{Load, Orders},
    run::{self, Sabotage},
    store::Kind,
    tasks, worker,
};

/// The error of every part of the program.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Locks under chaos: workers, a store, and a nemesis that breaks things.
#[derive(Parser)]
#[command(name = "dlock-chaos")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs workers on a store while a nemesis breaks things, and judges what happened.
    ///
    /// Exit code 0: nothing is broken. 1: something is, or the run proves nothing. 2: there was no run.
    Run(Box<Run>),
    /// Runs workers of a queue while a nemesis breaks things, and judges the outcome of their tasks.
    ///
    /// Exit codes as for `run`. The stores that have a queue are `postgres` and `sqlite`.
    Tasks(Box<Run>),
    /// One worker. The controller starts it.
    #[command(hide = true)]
    Worker {
        /// Its orders, as JSON.
        orders: String,
    },
    /// A server that is compatible with DynamoDB. The controller starts it.
    #[cfg(feature = "dynamodb")]
    #[command(hide = true)]
    Dynamodb {
        /// The file for its data.
        file: std::path::PathBuf,
        /// The port on 127.0.0.1.
        port: u16,
    },
}

/// The options of a run.
#[derive(Args, Clone, Debug)]
pub(crate) struct Run {
    /// The store.
    #[arg(long, value_enum)]
    pub(crate) store: Kind,
    /// The seed of all choices of the workers and the nemesis; random if not given. The same seed
    /// gives the same choices, not the same run, which also depends on the machine.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// How long the nemesis works. Starting, recovering and judging take extra time.
    #[arg(long, default_value_t = 40)]
    pub(crate) seconds: u64,
    /// The number of worker processes, each with two tasks.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=32))]
    pub(crate) workers: u8,
    /// The leases that workers request, in milliseconds: each try draws one of them.
    #[arg(long, value_delimiter = ',', default_values_t = [300, 1000, 2000],
          value_parser = clap::value_parser!(u64).range(100..=60_000))]
    pub(crate) leases: Vec<u64>,
    /// Keeps the history even if nothing is broken.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Ends when the standard input closes, so that the run dies with the test that started it.
    #[arg(long, hide = true)]
    pub(crate) tethered: bool,
    /// Breaks the run itself, to check that the run notices.
    #[arg(long, value_enum)]
    pub(crate) sabotage: Option<Sabotage>,
}

impl Run {
    /// The longest lease.
    pub(crate) fn lease(&self) -> Duration {
        Duration::from_millis(self.leases.iter().copied().max().unwrap_or(1000))
    }

    /// The command that repeats the run.
    pub(crate) fn command(&self, part: &str, seed: u64) -> String {
        let leases: Vec<String> = self.leases.iter().map(u64::to_string).collect();
        let mut command = format!(
            "cargo run -p dlock-chaos --features {store} -- {part} --store {store} --seed {seed} \
             --seconds {} --workers {} --leases {}",
            self.seconds,
            self.workers,
            leases.join(","),
            store = self.store,
        );
        if let Some(sabotage) = self.sabotage {
            command += &format!(" --sabotage {sabotage}");
        }
        command
    }
}

/// The command line of the program.
#[must_use]
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(arguments) => block_on(run::run(&arguments)),
        Command::Tasks(arguments) => block_on(tasks::run(&arguments)),
        Command::Worker { orders } => serde_json::from_str::<Orders>(&orders)
            .map_err(Into::into)
            .and_then(|orders| match orders.load {
                Load::Locks => block_on(worker::work(orders)),
                Load::Tasks => block_on(tasks::work(orders)),
            })
            .map(|()| true),
        #[cfg(feature = "dynamodb")]
        Command::Dynamodb { file, port } => {
            block_on(crate::store::dynamodb::serve(&file, port)).map(|()| true)
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprint!("dlock-chaos: {error}");
            let mut source = error.source();
            while let Some(error) = source {
                eprint!(": {error}");
                source = error.source();
            }
            eprintln!();
            ExitCode::from(2)
        }
    }
}

fn block_on<T>(part: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(part)
}
