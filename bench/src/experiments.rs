//! What is measured, in what order.

mod contended;
mod costs;
mod foreign;
mod growth;
mod handoff;
mod http;
mod http_crowd;
mod idle;
mod layers;
mod mix;
mod network;
mod processes;
mod renewals;
mod takeover;
mod tasks;
mod throughput;
mod uncontended;
mod waiters;

pub(crate) use self::{
    idle::POLL,
    layers::{EXPERIMENT as LAYERS, Workers},
};

use anyhow::Result;
use clap::ValueEnum;

use crate::bench::Bench;

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Experiment {
    /// Acquire and release, nobody else there: latency.
    Uncontended,
    /// The same through a network.
    Network,
    /// The same on each layer of the way, from the driver to the frontend.
    Layers,
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
    /// Acquire and release over HTTP, beside the store asked directly.
    Http,
    /// Very many clients of one server that wait or do nothing.
    HttpCrowd,
    /// Locks of other languages, beside ours. They need Go, and Java with Maven.
    Foreign,
    /// Everything of the queue.
    Tasks,
    /// Tasks that do nothing: how many in a second, and what each costs.
    TasksThroughput,
    /// From enqueueing to start.
    TasksLatency,
    /// From the crash of a worker to the next start of its task.
    TasksCrash,
    /// A steady load under an old snapshot.
    TasksSnapshot,
    /// Claims with few tasks in the queue and with very many.
    TasksBacklog,
    /// What an idle worker asks and writes.
    TasksIdle,
    /// What decided the layout: updates by fillfactor, dead entries, priorities.
    TasksLayout,
}

impl Experiment {
    /// Of the queue, not of locks: measured only if asked for.
    pub(crate) const fn is_of_the_queue(self) -> bool {
        matches!(
            self,
            Self::Tasks
                | Self::TasksThroughput
                | Self::TasksLatency
                | Self::TasksCrash
                | Self::TasksSnapshot
                | Self::TasksBacklog
                | Self::TasksIdle
                | Self::TasksLayout
        )
    }

    /// Of servers, not of locks: measured only if asked for.
    pub(crate) const fn is_of_servers(self) -> bool {
        matches!(self, Self::Http | Self::HttpCrowd)
    }

    /// Of locks of other languages: measured only if asked for.
    pub(crate) const fn is_foreign(self) -> bool {
        matches!(self, Self::Foreign)
    }

    /// Measured in every run; the others are measured once, at the end.
    pub(crate) const fn repeats(self) -> bool {
        !matches!(
            self,
            Self::Mix
                | Self::Waiters
                | Self::Renewals
                | Self::Growth
                | Self::Costs
                | Self::HttpCrowd
                | Self::TasksSnapshot
                | Self::TasksBacklog
                | Self::TasksIdle
                | Self::TasksLayout
        )
    }

    /// `run` is 0 for what is measured once.
    pub(crate) async fn measure(self, bench: &Bench, run: u32) -> Result<()> {
        match self {
            Self::Uncontended => uncontended::measure(bench, run).await,
            Self::Network => network::measure(bench, run).await,
            Self::Layers => layers::measure(bench, run).await,
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
            Self::Http => http::measure(bench, run).await,
            Self::HttpCrowd => http_crowd::measure(bench).await,
            Self::Foreign => foreign::measure(bench, run).await,
            // The steps have its parts.
            Self::Tasks => Ok(()),
            Self::TasksThroughput => tasks::throughput(bench, run).await,
            Self::TasksLatency => tasks::latency(bench, run).await,
            Self::TasksCrash => tasks::crash(bench, run).await,
            Self::TasksSnapshot => tasks::snapshot(bench).await,
            Self::TasksBacklog => tasks::backlog(bench).await,
            Self::TasksIdle => tasks::idle(bench).await,
            Self::TasksLayout => tasks::layout(bench).await,
        }
    }
}
