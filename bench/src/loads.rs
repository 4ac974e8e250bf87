//! The loads, one file each: how to measure it, which figures it shows, and its goals.

mod attack;
mod handoff;
mod http;
mod network;
mod pair;
mod processes;
mod queue;
mod renewals;
mod several;
mod takeover;
mod tasks;
mod throughput;

pub(crate) use self::processes::Shape;

use anyhow::Result;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::{bench::Bench, check::Goal};

/// A kind of load.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Load {
    /// Acquire and release of a free lock by one task: latency.
    Pair,
    /// The same through a network.
    Network,
    /// The same by many tasks, each on its own name.
    Throughput,
    /// Several free locks at once.
    Several,
    /// 8 tasks of one process on one name.
    Tasks,
    /// 8 processes on one name, or those of `--shapes`.
    Processes,
    /// From one process's release to another's grant.
    Handoff,
    /// From a killed holder's last renewal to the next grant.
    Takeover,
    /// Many leases of one process that renew themselves.
    Renewals,
    /// Tasks of the queue: how many run in a second, and how long each waits.
    Queue,
    /// Acquire and release over HTTP, next to direct calls to the store.
    Http,
    /// Renewals at a server that another client attacks.
    Attack,
}

/// How a load is shown, and its goals.
pub(crate) struct Page {
    pub(crate) title: &'static str,
    /// Headings and figures of its table.
    pub(crate) columns: &'static [(&'static str, &'static str)],
    /// Its lines of the short table.
    pub(crate) lines: &'static [Line],
    pub(crate) goals: &'static [Goal],
}

/// A line of the short table: one figure of one case.
pub(crate) struct Line {
    pub(crate) what: &'static str,
    pub(crate) case: &'static str,
    pub(crate) figure: &'static str,
    /// Whether the higher of two figures is the better one.
    pub(crate) more: bool,
}

impl Load {
    /// Measured in every run; otherwise once, at the end.
    pub(crate) const fn repeats(self) -> bool {
        !matches!(self, Self::Renewals | Self::Attack)
    }

    pub(crate) const fn page(self) -> &'static Page {
        match self {
            Self::Pair => &pair::PAGE,
            Self::Network => &network::PAGE,
            Self::Throughput => &throughput::PAGE,
            Self::Several => &several::PAGE,
            Self::Tasks => &tasks::PAGE,
            Self::Processes => &processes::PAGE,
            Self::Handoff => &handoff::PAGE,
            Self::Takeover => &takeover::PAGE,
            Self::Renewals => &renewals::PAGE,
            Self::Queue => &queue::PAGE,
            Self::Http => &http::PAGE,
            Self::Attack => &attack::PAGE,
        }
    }

    /// `run` is 0 for a load that is measured once.
    pub(crate) async fn measure(self, bench: &Bench, run: u32) -> Result<()> {
        match self {
            Self::Pair => pair::measure(bench, run).await,
            Self::Network => network::measure(bench, run).await,
            Self::Throughput => throughput::measure(bench, run).await,
            Self::Several => several::measure(bench, run).await,
            Self::Tasks => tasks::measure(bench, run).await,
            Self::Processes => processes::measure(bench, run).await,
            Self::Handoff => handoff::measure(bench, run).await,
            Self::Takeover => takeover::measure(bench, run).await,
            Self::Renewals => renewals::measure(bench, run).await,
            Self::Queue => queue::measure(bench, run).await,
            Self::Http => http::measure(bench, run).await,
            Self::Attack => attack::measure(bench, run).await,
        }
    }
}
