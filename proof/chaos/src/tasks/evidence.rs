//! The traces that a run has left.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::SystemTime,
};

use dlock_proof::history::{Line, What};
use dlock_tasks::{Filter, Payload, State, Task, TaskStore};
use uuid::Uuid;

use super::{
    database::QueueDatabase,
    ledger::Entry,
    note::{Note, read_all},
    payload::{JobPayload, Tick},
};
use crate::cli::Failure;

/// The evidence for the verdict.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    /// By time.
    pub(super) notes: Vec<Note>,
    /// The errands, in their final state in the store.
    pub(super) errands: BTreeMap<i64, Ended>,
    /// When the tasks of the schedule were enqueued, in order.
    pub(super) ticks: Vec<SystemTime>,
    /// The rows of orders and of effects: the task, and the token of the claim.
    pub(super) orders: Vec<Uuid>,
    pub(super) effects: Vec<(i64, u64)>,
    /// The changes that the store has made to tasks with a lane or a queue with a limit, in order.
    pub(super) ledger: Vec<Entry>,
    /// Writes to the accounts, in the order of their decisions.
    pub(super) writes: Vec<Write>,
    /// The tasks that the customer wanted cancelled.
    pub(super) cancelled: BTreeSet<i64>,
}

/// An errand in its final state.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) errand: JobPayload,
    pub(super) state: State,
    pub(super) attempt: u32,
}

/// One write to an account of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) task: i64,
    pub(super) fenced: bool,
    pub(super) token: u64,
    pub(super) accepted: bool,
}

impl Evidence {
    /// Collects it from the store, the workers' notes and the storage's history.
    pub(super) async fn gather<S: QueueDatabase>(
        shop: &S,
        files: &Path,
        history: &[Line],
        cancelled: BTreeSet<i64>,
    ) -> Result<Self, Failure> {
        let mut this = Self {
            notes: read_all(files)?,
            orders: shop.orders().await?,
            effects: shop.effects().await?,
            ledger: shop.ledger().await?,
            writes: history.iter().filter_map(Write::of).collect(),
            cancelled,
            ..Self::default()
        };
        for task in all(&shop.tasks()).await? {
            if task.kind == Tick::KIND {
                this.ticks.push(task.enqueued_at);
                continue;
            }
            let ended = Ended {
                errand: serde_json::from_value(task.payload)?,
                state: task.state,
                attempt: task.attempt,
            };
            this.errands.insert(task.id.get(), ended);
        }
        this.ticks.sort();
        Ok(this)
    }
}

impl Write {
    fn of(line: &Line) -> Option<Self> {
        let What::Write {
            resource,
            fenced,
            token,
            accepted,
            ..
        } = &line.what
        else {
            return None;
        };
        Some(Self {
            task: resource.split(' ').next()?.parse().ok()?,
            fenced: *fenced,
            token: *token,
            accepted: *accepted,
        })
    }
}

/// Every task of a store.
pub(super) async fn all(store: &impl TaskStore) -> Result<Vec<Task>, Failure> {
    let mut all: Vec<Task> = Vec::new();
    loop {
        let after = all.last().map(|task| task.id);
        let page = store
            .list(&Filter::default().after(after).limit(1000))
            .await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}
