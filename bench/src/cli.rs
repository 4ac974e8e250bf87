//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::{experiments::Experiment, mixes::Mix, systems::Store};

/// Measures dlock beside the raw calls of its stores, locks written by hand, and its peers.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the servers, measure, write the results, and print them.
    Run(Order),
    /// Print the results of a run as tables, and draw them.
    Report {
        /// What a run wrote; what several wrote, such as one for each store, is put together.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// A document whose tables are replaced by those of this run, instead of printing them.
        #[arg(long)]
        into: Option<PathBuf>,
        /// A folder for SVG files.
        #[arg(long)]
        plots: Option<PathBuf>,
    },
    /// Compare a run with the figures that are to be reached; fails if one is not.
    Check {
        /// What a run wrote.
        file: PathBuf,
    },
    /// One of a run's other processes.
    #[command(hide = true)]
    Worker,
    /// A queue as a process under measurement.
    #[command(hide = true)]
    Queue { queue: String, words: Vec<String> },
    /// The store that is compatible with DynamoDB.
    #[command(hide = true)]
    Dynamodb { port: u16 },
}

/// What to measure.
#[derive(Args, Debug)]
pub(crate) struct Order {
    /// Only these loads; all of locks if none is named, all of the queue with `tasks`, those of servers by name.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) only: Vec<Experiment>,
    /// Only these stores.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) stores: Vec<Store>,
    /// How often to measure; the tables show medians.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Only these mixes of processes and tasks: `2+1@20` is one process of two tasks and one of
    /// one, 20 ms each; `4x2@5` is four processes of two, 5 ms each.
    #[arg(long, value_delimiter = ',')]
    pub(crate) mixes: Vec<Mix>,
    /// How long each mix is watched, in seconds.
    #[arg(long)]
    pub(crate) mix_span: Option<u64>,
    /// The lease of the mixes, in seconds.
    #[arg(long)]
    pub(crate) mix_lease: Option<u64>,
    /// Only these queues, by name, such as `dlock` or `River`.
    #[arg(long, value_delimiter = ',')]
    pub(crate) queues: Vec<String>,
    /// Build and measure the queues of others, too. They need Go and Node.js.
    #[arg(long)]
    pub(crate) queue_peers: bool,
    /// How long the queue is watched under an old snapshot, in seconds.
    #[arg(long)]
    pub(crate) snapshot_span: Option<u64>,
    /// How many tasks that do nothing are run.
    #[arg(long)]
    pub(crate) queue_tasks: Option<usize>,
    /// One run with small sizes, about two minutes: to see that it works.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Where the results go.
    #[arg(long, default_value = "results/latest.json")]
    pub(crate) output: PathBuf,
    /// A folder for SVG files.
    #[arg(long)]
    pub(crate) plots: Option<PathBuf>,
}
