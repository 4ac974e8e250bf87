//! How long and how much is measured.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::mixes::Mix;

/// The sizes of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sizes {
    /// How often everything that varies is measured.
    pub(crate) runs: u32,
    /// Uncontended: each system's turn, and how many turns it has.
    pub(crate) turn: Duration,
    pub(crate) turns: u32,
    /// Throughput: each system, at each number of tasks.
    pub(crate) throughput: Duration,
    pub(crate) tasks: Vec<usize>,
    /// Contended, with critical sections of 0 and of 5 ms.
    pub(crate) empty_sections: Duration,
    pub(crate) sections: Duration,
    /// The same across processes, where fairness is a matter of chance and needs more grants.
    pub(crate) sections_across: Duration,
    /// Hand-offs between two processes.
    pub(crate) handoffs: Duration,
    /// How long an idle waiter is watched.
    pub(crate) idle: Duration,
    /// Leases that are renewed, and for how long.
    pub(crate) leases: Vec<usize>,
    pub(crate) renewals: Duration,
    /// Names in the table.
    pub(crate) names: Vec<usize>,
    /// Waiters on one name.
    pub(crate) waiters: Vec<usize>,
    /// Processes of several tasks: which, how long, and with which lease.
    #[serde(default)]
    pub(crate) mixes: Vec<Mix>,
    #[serde(default)]
    pub(crate) mix: Duration,
    #[serde(default)]
    pub(crate) mix_lease: Duration,
    #[serde(default)]
    pub(crate) queue: QueueSizes,
    #[serde(default)]
    pub(crate) http: HttpSizes,
}

/// The sizes of the servers' loads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct HttpSizes {
    /// Clients that acquire and release.
    pub(crate) clients: Vec<usize>,
    /// Each system's turn, and how many turns it has.
    pub(crate) turn: Duration,
    pub(crate) turns: u32,
    /// Clients that wait or do nothing, and how long they are watched.
    pub(crate) crowd: usize,
    pub(crate) watch: Duration,
}

/// The sizes of the queue's loads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct QueueSizes {
    /// Tasks that do nothing.
    pub(crate) tasks: usize,
    /// How long each rate of tasks is offered.
    pub(crate) latency: Duration,
    /// How long an old snapshot is open.
    pub(crate) snapshot: Duration,
    /// How long an idle worker is watched.
    pub(crate) idle: Duration,
    /// Tasks in the queue while claims are timed, few and many.
    pub(crate) backlog: Vec<usize>,
    /// Tasks that are claimed and beat, for the share of updates that touch no index.
    pub(crate) updates: usize,
    /// Dead entries of the index that claims walk along.
    pub(crate) dead: usize,
}

impl Sizes {
    /// About a quarter of an hour with five runs.
    pub(crate) fn full(runs: u32) -> Self {
        let millis = Duration::from_millis;
        Self {
            runs,
            turn: millis(50),
            turns: 6,
            throughput: millis(200),
            tasks: vec![1, 16, 64, 256],
            empty_sections: millis(400),
            sections: millis(1200),
            sections_across: millis(1800),
            handoffs: millis(900),
            idle: millis(3000),
            leases: vec![1_000, 10_000, 100_000],
            renewals: millis(10_500),
            names: vec![10, 1_000, 100_000, 1_000_000],
            waiters: vec![1, 10, 100, 1_000],
            mixes: vec![
                mix(&[2, 1], 20),
                mix(&[8, 1], 5),
                mix(&[2; 4], 20),
                mix(&[8; 8], 0),
            ],
            mix: millis(10_000),
            mix_lease: millis(3000),
            queue: QueueSizes {
                tasks: 100_000,
                latency: millis(12_000),
                snapshot: millis(60_000),
                idle: millis(60_000),
                backlog: vec![1_000, 1_000_000],
                updates: 20_000,
                dead: 1_000_000,
            },
            http: HttpSizes {
                clients: vec![1, 64],
                turn: millis(1_000),
                turns: 3,
                crowd: 10_000,
                watch: millis(30_000),
            },
        }
    }

    /// To see that it works: every number is there, few mean much.
    pub(crate) fn quick() -> Self {
        let millis = Duration::from_millis;
        Self {
            runs: 1,
            turn: millis(30),
            turns: 3,
            throughput: millis(80),
            empty_sections: millis(150),
            sections: millis(500),
            sections_across: millis(700),
            handoffs: millis(300),
            idle: millis(1500),
            leases: vec![1_000, 10_000],
            renewals: millis(6_000),
            names: vec![10, 1_000, 100_000],
            mixes: vec![mix(&[2, 1], 20)],
            mix: millis(5000),
            queue: QueueSizes {
                tasks: 3_000,
                latency: millis(3_000),
                snapshot: millis(5_000),
                idle: millis(5_000),
                backlog: vec![1_000, 50_000],
                updates: 2_000,
                dead: 50_000,
            },
            http: HttpSizes {
                clients: vec![1, 64],
                turn: millis(250),
                turns: 2,
                crowd: 2_000,
                watch: millis(8_000),
            },
            ..Self::full(1)
        }
    }
}

fn mix(tasks: &[usize], section: u64) -> Mix {
    Mix {
        tasks: tasks.to_vec(),
        section: Duration::from_millis(section),
    }
}
