//! What is measured, in what order.

mod contended;
mod costs;
mod growth;
mod handoff;
mod idle;
mod mix;
mod processes;
mod renewals;
mod takeover;
mod throughput;
mod uncontended;
mod waiters;

pub(crate) use self::idle::POLL;

use anyhow::Result;
use clap::ValueEnum;

use crate::bench::Bench;

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Experiment {
    /// Acquire and release, nobody else there: latency.
    Uncontended,
    /// The same, by many tasks on names of their own.
    Throughput,
    /// 8 tasks of one process on one name.
    Contended,
    /// 8 processes on one name.
    Processes,
    /// From one process's release to another's grant.
    Handoff,
    /// From a killed holder's last renewal to the next grant.
    Takeover,
    /// What a waiter asks while nothing happens.
    Idle,
    /// Processes of several tasks each on one name.
    Mix,
    /// More and more waiters of one process on one name.
    Waiters,
    /// Very many leases that are renewed.
    Renewals,
    /// More and more names in the table.
    Growth,
    /// Bytes of log, capacity units.
    Costs,
}

impl Experiment {
    /// Measured in every run; the others are measured once, at the end.
    pub(crate) const fn repeats(self) -> bool {
        !matches!(
            self,
            Self::Mix | Self::Waiters | Self::Renewals | Self::Growth | Self::Costs
        )
    }

    /// `run` is 0 for what is measured once.
    pub(crate) async fn measure(self, bench: &Bench, run: u32) -> Result<()> {
        match self {
            Self::Uncontended => uncontended::measure(bench, run).await,
            Self::Throughput => throughput::measure(bench, run).await,
            Self::Contended => contended::measure(bench, run).await,
            Self::Processes => processes::measure(bench, run).await,
            Self::Handoff => handoff::measure(bench, run).await,
            Self::Takeover => takeover::measure(bench, run).await,
            Self::Idle => idle::measure(bench, run).await,
            Self::Mix => mix::measure(bench).await,
            Self::Waiters => waiters::measure(bench).await,
            Self::Renewals => renewals::measure(bench).await,
            Self::Growth => growth::measure(bench).await,
            Self::Costs => costs::measure(bench).await,
        }
    }
}
