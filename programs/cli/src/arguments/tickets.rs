//! The arguments of the commands that keep a lock by a ticket.

use std::time::Duration;

use clap::Args;

use super::{StoreArguments, WaitArguments, time};

/// Arguments of `dlock acquire`.
#[derive(Debug, Args)]
#[cfg_attr(not(unix), expect(dead_code, reason = "locks are held on Unix only"))]
pub(crate) struct AcquireArguments {
    /// The lock
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) wait: WaitArguments,
    /// How long it is yours, unless it is renewed: 100ms to 24h
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "60s")]
    pub(crate) lease: Duration,
    /// A label that others see [default: host:pid]
    #[arg(long, value_name = "LABEL")]
    pub(crate) owner: Option<String>,
    /// For programs: a JSON object with the ticket in it
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock renew`.
#[derive(Debug, Args)]
pub(crate) struct RenewArguments {
    /// The line that 'dlock acquire' printed; - reads it from standard input [default: `DLOCK_TICKET` of the
    /// environment]
    pub(crate) ticket: Option<String>,
    /// For programs: JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock give-back`.
#[derive(Debug, Args)]
pub(crate) struct GiveBackArguments {
    /// The line that 'dlock acquire' printed; - reads it from standard input [default: `DLOCK_TICKET` of the
    /// environment]
    pub(crate) ticket: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}
