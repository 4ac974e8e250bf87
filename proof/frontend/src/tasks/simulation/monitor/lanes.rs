//! K8: of a lane one task runs at a time, in the order of the queue, and of a queue with a limit at most that many; and
//! every task that could run does.

use std::{collections::BTreeMap, time::SystemTime};

use dlock_tasks::{Claim, Claimed, State as Doing, TaskId};
use dlock_testkit::tasks::memory::table::Row;

use super::State;

/// All tasks in one instant.
pub(super) struct View {
    rows: BTreeMap<TaskId, Row>,
    now: SystemTime,
}

impl View {
    /// Whether a task has to wait for another one of its lane: for one that runs, or for one that goes before it, which
    /// may be due.
    pub(super) fn waits(&self, row: &Row) -> bool {
        let is_before = |other: &Row| place(other) < place(row);
        self.beside(row).any(|other| match other.state(self.now) {
            Doing::Running => true,
            Doing::Ready | Doing::Stalled => is_before(other),
            _ => false,
        })
    }

    /// The other tasks of its lane.
    fn beside(&self, row: &Row) -> impl Iterator<Item = &Row> {
        let (id, new) = (row.id, row.new.clone());
        let rows = self.rows.values().filter(move |other| other.id != id);
        rows.filter(move |other| {
            other.new.lane.is_some()
                && (&other.new.queue, &other.new.lane) == (&new.queue, &new.lane)
        })
    }

    /// How many tasks of a queue run.
    fn running(&self, queue: &str) -> u32 {
        let runs = |row: &&Row| row.new.queue == queue && row.state(self.now) == Doing::Running;
        u32::try_from(self.rows.values().filter(runs).count()).unwrap_or(u32::MAX)
    }
}

/// A task that has begun goes before one that has not.
fn place(row: &Row) -> (bool, u8, SystemTime, TaskId) {
    (row.held().is_none(), row.new.priority, row.run_at, row.id)
}

impl State {
    pub(super) fn view(&self) -> View {
        self.store.call(|table, now| View {
            rows: table.rows.clone(),
            now,
        })
    }

    /// Judges the store's answer to a claim. `before`: the tasks as they were before it.
    pub(super) fn judge_lanes(&mut self, claim: &Claim, claimed: &Claimed, before: &View) {
        let after = self.view();
        let limit = |queue: &str| self.store.call(|table, _| table.limits.get(queue).copied());
        let mut wrong = Vec::new();
        for task in &claimed.tasks {
            let id = task.key.id;
            let (Some(old), Some(new)) = (before.rows.get(&id), after.rows.get(&id)) else {
                continue;
            };
            if old.is_of(&task.key) {
                // It held that task already.
                continue;
            }
            let lane = &new.new.lane;
            self.figures.in_lanes += u64::from(lane.is_some());
            self.figures.lanes_taken_over +=
                u64::from(lane.is_some() && old.state(after.now) == Doing::Stalled);
            let runs = |other: &&Row| other.state(after.now) == Doing::Running;
            if let Some(other) = after.beside(new).find(runs) {
                wrong.push(format!("tasks {id} and {} of one lane run", other.id));
            }
            let first = |other: &&Row| {
                let is_due = matches!(other.state(after.now), Doing::Ready | Doing::Stalled);
                is_due && place(other) < place(old) && has_not_ended(&after, other.id)
            };
            if let Some(other) = before.beside(old).find(first) {
                wrong.push(format!(
                    "task {id} runs before task {} of its lane",
                    other.id
                ));
            }
            let (running, limit) = (after.running(&new.new.queue), limit(&new.new.queue));
            if limit.is_some_and(|limit| running > limit) {
                wrong.push(format!("{running} tasks run, {id} among them: {limit:?}"));
            }
        }
        if claimed.tasks.len() < claim.max && !claim.again {
            for row in after.rows.values() {
                let is_due = matches!(row.state(after.now), Doing::Ready | Doing::Stalled);
                let spent = row
                    .term
                    .as_ref()
                    .is_some_and(|term| term.record.uuid == claim.uuid);
                if !is_due || spent || !claim.queues.contains(&row.new.queue) {
                    continue;
                }
                let (running, limit) = (after.running(&row.new.queue), limit(&row.new.queue));
                let is_full = limit.is_some_and(|limit| running >= limit);
                let waits = after.waits(row);
                self.figures.waits_for_a_lane += u64::from(waits);
                self.figures.waits_for_a_place += u64::from(is_full);
                if !waits && !is_full {
                    wrong.push(format!(
                        "task {} could run, and a claim did not get it",
                        row.id
                    ));
                }
            }
        }
        for what in wrong {
            self.complain("K8", what);
        }
    }
}

fn has_not_ended(view: &View, id: TaskId) -> bool {
    view.rows.get(&id).is_some_and(|row| row.done.is_none())
}
