//! The arguments of the commands that look at a store as a whole, and of those that packages are made
//! with.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use clap_complete::Shell;

use super::{StoreArguments, time};

/// Arguments of `dlock doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// The lease to compare latencies with: the one you pass to 'dlock run', 100ms to 24h
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "15s")]
    pub(crate) lease: Duration,
    /// For programs: JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// How long to measure, 1s to 10m
    #[arg(long = "for", value_name = "TIME", value_parser = measuring, default_value = "5s")]
    pub(crate) time: Duration,
    /// How many leases are renewed at the same time, 1 to 256
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256), default_value_t = 8)]
    pub(crate) leases: u16,
    /// For programs: JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: Shell,
}

/// Arguments of `dlock man`.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The folder, which must exist
    pub(crate) folder: PathBuf,
}

fn measuring(text: &str) -> Result<Duration, String> {
    let time = time(text)?;
    if (Duration::from_secs(1)..=Duration::from_secs(600)).contains(&time) {
        Ok(time)
    } else {
        Err("it is 1s to 10m".to_owned())
    }
}
