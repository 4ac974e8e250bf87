//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::{
    loads::{Load, Shape},
    systems::Store,
};

/// Measures dlock next to the raw calls of its stores, locks written by hand, and its peers.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the servers, measure, write the results and print them.
    Run(Order),
    /// Compare a run with the goals; fails if one that was reached before is missed.
    Check {
        /// The results of a run.
        file: PathBuf,
    },
    /// Print the results of runs as tables, or write the short table into a page.
    Render {
        /// The results of one or more runs, of different loads.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// A page whose table is replaced.
        #[arg(long)]
        into: Option<PathBuf>,
    },
    /// One of a run's other processes.
    #[command(hide = true)]
    Worker {
        /// Use as many threads as the machine has processors; otherwise one, since eight of these share the machine.
        #[arg(long)]
        threads: bool,
    },
    /// The store that is compatible with DynamoDB.
    #[command(hide = true)]
    Dynamodb { port: u16 },
}

/// The loads, stores and runs to measure.
#[derive(Args, Debug)]
pub(crate) struct Order {
    /// Only these loads.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) only: Vec<Load>,
    /// Only these stores.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) stores: Vec<Store>,
    /// The number of runs; the tables show medians.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    #[command(flatten)]
    pub(crate) variant: Variant,
    /// One run with short spans, as a check that everything works.
    #[arg(long)]
    pub(crate) quick: bool,
    /// The file for the results.
    #[arg(long, default_value = "results/latest.json")]
    pub(crate) output: PathBuf,
}

/// Variants of the usual loads.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Variant {
    /// Give each of the 8 tasks of the load `tasks` an owner of its own.
    #[arg(long)]
    pub(crate) owner_each: bool,
    /// Run half of the 8 tasks on a current-thread runtime, the others on the usual one.
    #[arg(long)]
    pub(crate) two_runtimes: bool,
    /// Leave handwritten locks and peers out of loads that wait.
    #[arg(long)]
    pub(crate) ours: bool,
    /// The lease of dlock in seconds, instead of 15, in loads that compare it with other systems: how often waiters poll
    /// depends on it.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) lease: Option<u64>,
    /// The processes of the load `processes`: `4x2@20` is four processes of two tasks that keep the lock for 20 ms each,
    /// `8+1@5` one process of eight tasks and one of one, 5 ms each; beside `1x1+dying@5` a waiter is refused each second,
    /// and dies.
    #[arg(long, value_delimiter = ',')]
    pub(crate) shapes: Vec<Shape>,
}
