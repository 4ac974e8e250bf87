//! The effects of a call in the store: attempts are counted as documented, an older claim changes nothing, each instant
//! of a schedule is served once (K1, K3, K5, K9, K10); and how everything ended.

use std::collections::BTreeMap;

use dlock_core::provider::ReleaseOutcome;
use dlock_tasks::{
    Claim, ClaimKey, ClaimName, Claimed, Ended, Enqueued, How as Written, Served, State as Doing,
    TaskId,
};
use dlock_testkit::tasks::memory::table::Row;

use super::{ProcessId, State, endings::is_done, lanes::View};
use crate::tasks::{Answer, Call, simulation::plan::How};

/// The rows that a call names, as they were before it; and all of them, if it is a claim.
pub(in crate::tasks::simulation) struct Before(Vec<(ClaimKey, Option<Row>)>, Option<View>);

impl State {
    pub(super) fn before(&self, call: &Call) -> Before {
        let keys: Vec<ClaimKey> = match call {
            Call::Finish(endings) => endings.iter().map(|ending| ending.key).collect(),
            Call::Checkpoint(key, ..) => vec![*key],
            Call::Renew(renewals) => renewals
                .iter()
                .filter_map(|it| key(&it.name, it.uuid))
                .collect(),
            Call::Release(release) => key(&release.name, release.uuid).into_iter().collect(),
            _ => Vec::new(),
        };
        let row = |key: ClaimKey| (key, self.row(key.id));
        let all = matches!(call, Call::Claim(_)).then(|| self.view());
        Before(keys.into_iter().map(row).collect(), all)
    }

    fn row(&self, id: TaskId) -> Option<Row> {
        self.store.call(|table, _| table.rows.get(&id).cloned())
    }

    pub(super) fn applied(
        &mut self,
        process: ProcessId,
        call: &Call,
        before: &Before,
        answer: &Answer,
    ) {
        for (key, row) in &before.0 {
            // One call may name an older claim of a task in addition to its newest.
            let newest = |row: &&Row| before.0.iter().any(|(key, _)| row.is_of(key));
            let Some(row) = row.as_ref().filter(|row| !newest(row)) else {
                continue;
            };
            let after = self.row(key.id);
            if format!("{:?}", Some(row)) != format!("{after:?}") {
                let (id, token) = (key.id, key.token);
                self.complain(
                    "K5",
                    format!("task {id}: token {token} is not its newest, and changed it"),
                );
            }
        }
        match (call, answer) {
            (Call::Claim(claim), Answer::Claimed(claimed)) => {
                self.granted(process, claim, claimed);
                if let Some(all) = &before.1 {
                    self.judge_lanes(claim, claimed, all);
                }
            }
            (Call::Finish(endings), Answer::Ended(ended)) => {
                for ((ending, ended), (_, before)) in endings.iter().zip(ended).zip(&before.0) {
                    let uncounted = matches!(ending.how, Written::GiveBack | Written::Snooze(_));
                    let freed = matches!(ended, Ended::Own(Doing::Ready | Doing::Scheduled));
                    // A late repeat gets this answer too, when another claim has the task.
                    let before = before.as_ref().filter(|row| row.is_of(&ending.key));
                    if uncounted && freed && is_held(before) {
                        *self.counted.entry(ending.key.id).or_default() -= 1;
                    }
                }
            }
            (Call::Release(_), Answer::Released(ReleaseOutcome::Released { .. })) => {
                for (key, before) in &before.0 {
                    let asked = before.as_ref().is_some_and(Row::is_asked);
                    if is_held(before.as_ref()) && !asked {
                        *self.counted.entry(key.id).or_default() -= 1;
                    }
                }
            }
            (Call::Periodic(_, instant), Answer::Served(Served::Enqueued(Enqueued::New(_)))) => {
                self.figures.ticks += 1;
                if self.served.is_some_and(|served| served >= *instant) {
                    self.complain("K10", "an instant was served before it or a later one");
                }
                self.served = Some(*instant);
            }
            _ => {}
        }
    }

    fn granted(&mut self, process: ProcessId, claim: &Claim, claimed: &Claimed) {
        let mut order = Vec::new();
        for task in &claimed.tasks {
            let id = task.key.id;
            if task.lost > 1 {
                self.suspects.insert(task.key);
            }
            if self.granted.insert(task.key, process).is_none() {
                self.figures.grants += 1;
                self.figures.takeovers += u64::from(
                    self.attempts
                        .keys()
                        .any(|key| key.id == id && *key != task.key),
                );
                *self.counted.entry(id).or_default() += 1;
                order.extend(self.row(id).map(|row| (row.new.priority, row.run_at, id)));
            }
            if self.counted.get(&id) != Some(&i64::from(task.attempt)) {
                let (counted, attempt) = (self.counted.get(&id).copied(), task.attempt);
                self.complain(
                    "K9",
                    format!("task {id}: attempt {attempt}, counted {counted:?}"),
                );
            }
        }
        if !order.is_sorted() {
            self.complain("K3", "a claim got its tasks in another order");
        }
        // The tasks that it did not get run later than all that it got.
        if let (Some(last), false) = (order.last().copied(), claim.again) {
            let view = self.view();
            let earlier = self.store.call(|table, now| {
                let mut rows = table.rows.values();
                let waits = |row: &&Row| {
                    row.state(now) == Doing::Ready
                        && !view.waits(row)
                        && row
                            .term
                            .as_ref()
                            .is_none_or(|term| term.record.uuid != claim.uuid)
                };
                rows.find(|row| waits(row) && (row.new.priority, row.run_at, row.id) < last)
                    .map(|row| row.id)
            });
            if let Some(id) = earlier {
                self.complain("K3", format!("task {id} was passed over"));
            }
        }
    }

    /// How everything ended.
    pub(super) fn judge(&mut self, ends: &BTreeMap<TaskId, How>) {
        let rows: Vec<Row> = self
            .store
            .call(|table, _| table.rows.values().cloned().collect());
        for row in rows {
            let id = row.id;
            let counted = self.counted.get(&id).copied().unwrap_or(0);
            if counted != i64::from(row.attempt) {
                let attempt = row.attempt;
                self.complain(
                    "K9",
                    format!("task {id}: attempt {attempt}, counted {counted}"),
                );
            }
            let Some(done) = row.done else {
                self.complain("K3", format!("task {id} has not ended: {:?}", row.term));
                continue;
            };
            let how = ends.get(&id).copied();
            let right = match (done.state, how) {
                (Doing::Succeeded, Some(how)) => {
                    self.figures.succeeded += 1;
                    is_done(how, row.attempt)
                }
                (Doing::Dead, Some(how)) => {
                    self.figures.dead += 1;
                    how == How::Discards || row.attempt == row.new.max_attempts
                }
                (Doing::Cancelled, _) => {
                    self.figures.cancelled += 1;
                    self.cancelled.contains(&id)
                }
                // A task of the schedule.
                (Doing::Succeeded, None) => true,
                (Doing::Dead, None) => row.attempt == row.new.max_attempts,
                _ => false,
            };
            if !right {
                let (state, attempt) = (done.state, row.attempt);
                self.complain(
                    "K9",
                    format!("task {id} ({how:?}) is {state} after {attempt} attempts"),
                );
            }
        }
    }
}

/// Whether a worker has this task, and it has not ended.
fn is_held(row: Option<&Row>) -> bool {
    row.is_some_and(|row| row.done.is_none() && row.held().is_some())
}

fn key(name: &dlock_core::Name, uuid: uuid::Uuid) -> Option<ClaimKey> {
    let name = ClaimName::try_from(name).ok()?;
    Some(ClaimKey::new(name.id, uuid, name.token))
}
