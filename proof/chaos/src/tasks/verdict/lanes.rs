//! K8: of a lane one task runs at a time, in the order of the queue, and of a queue with a limit at most that many; and
//! the lane or place of a killed worker is free again when its lease has run out.
//!
//! The ledger records the state of the store, without any slack: whenever it gives out a task, the claims that are
//! valid at that instant of its clock are counted, and the order is that of the tasks that it could see. The notes
//! record what the workers believed.

mod beliefs;

use std::collections::BTreeMap;

use crate::tasks::{LIMIT, LIMITED, evidence::Evidence, ledger::Entry};

/// How often things happened without which the rules would mean nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Tasks of lanes that were given out,
    pub(super) in_lanes: u64,
    /// and those of them for which others of the lane had to wait.
    pub(super) waited_for: u64,
    /// Tasks of the queue with a limit that were given out,
    pub(super) limited: u64,
    /// and those of them that took the last place.
    pub(super) filled: u64,
    /// Lanes and places that were given out again within [`SOON`] after the end of the lease that had them.
    pub(super) lanes_freed: u64,
    pub(super) places_freed: u64,
}

/// How soon after a lease a lane or a place must be taken now and then, in nanoseconds: a busy worker looks at the
/// tasks before its marks once a second, and then its claim takes time on a busy machine.
const SOON: i64 = 5_000_000_000;

/// The violations, in words.
pub(super) fn broken(evidence: &Evidence) -> Vec<String> {
    let Scene {
        newest, mut wrong, ..
    } = Scene::of(evidence);
    wrong.extend(beliefs::broken(evidence, &newest));
    wrong
}

/// How much could be judged.
pub(super) fn tally(evidence: &Evidence) -> Tally {
    Scene::of(evidence).tally
}

/// The tasks, as of the last entry of the ledger so far.
#[derive(Default)]
struct Scene<'a> {
    newest: BTreeMap<i64, &'a Entry>,
    /// All entries of tasks that have a lane, except those that ended long ago.
    lanes: BTreeMap<(&'a str, &'a str), BTreeMap<i64, Vec<&'a Entry>>>,
    /// The claims of the queue with a limit that have not ended, though their leases may have run out.
    limited: BTreeMap<i64, &'a Entry>,
    tally: Tally,
    wrong: Vec<String>,
}

impl<'a> Scene<'a> {
    fn of(evidence: &'a Evidence) -> Self {
        let mut scene = Self::default();
        evidence.ledger.iter().for_each(|entry| scene.judge(entry));
        scene
    }

    fn judge(&mut self, entry: &'a Entry) {
        let before = self.newest.get(&entry.task).copied();
        if let Some(before) = before.filter(|before| entry.begins(before)) {
            if before.is_valid_at(entry.granted()) {
                self.complain(entry, before);
            }
            if entry.lane.is_some() {
                self.judge_lane(entry, before);
            }
            if entry.queue == LIMITED {
                self.judge_limit(entry, before);
            }
        }
        self.newest.insert(entry.task, entry);
        if entry.queue == LIMITED {
            self.limited.insert(entry.task, entry);
            self.limited.retain(|_, entry| entry.held && !entry.gone);
        }
        if let Some(lane) = &entry.lane {
            let lane = self.lanes.entry((&entry.queue, lane)).or_default();
            lane.entry(entry.task).or_default().push(entry);
        }
    }

    fn complain(&mut self, entry: &Entry, other: &Entry) {
        let Entry {
            task, token, queue, ..
        } = entry;
        let lane = entry.lane.as_deref().unwrap_or("-");
        let (its, had, left) = (other.task, other.token, other.expiry - entry.granted());
        self.wrong.push(format!(
            "queue {queue}, lane {lane}: the store gave out task {task} with token {token} {left} ns before the end of the lease of \
             task {its} with token {had}"
        ));
    }

    fn judge_lane(&mut self, entry: &'a Entry, before: &Entry) {
        self.tally.in_lanes += 1;
        // The same task comes first when its lease has run out.
        let late = entry.granted() - before.expiry;
        self.tally.lanes_freed += u64::from(before.held && (0..SOON).contains(&late));
        let key = (
            entry.queue.as_str(),
            entry.lane.as_deref().unwrap_or_default(),
        );
        let Some(lane) = self.lanes.get_mut(&key) else {
            return;
        };
        let is_valid = |other: &&Entry| other.is_valid_at(entry.granted());
        let (mut others, mut earlier, mut waits) = (Vec::new(), Vec::new(), false);
        lane.retain(|task, entries| {
            if *task == entry.task {
                return true;
            }
            others.extend(entries.last().copied().filter(is_valid));
            let seen = entries.iter().rev().find(|other| entry.sees(other));
            let Some(seen) = seen.copied() else {
                return true;
            };
            let is_due = !seen.gone && (seen.held || seen.run_at <= entry.due);
            if is_due && !is_valid(&seen) && order(seen) < order(before) {
                earlier.push(*task);
            }
            waits |= is_due && order(seen) > order(before);
            !seen.gone
        });
        self.tally.waited_for += u64::from(waits);
        for other in others {
            self.complain(entry, other);
        }
        for first in earlier {
            let (task, lane) = (entry.task, key.1);
            self.wrong.push(format!(
                "lane {lane}: the store gave out task {task} before task {first}"
            ));
        }
    }

    fn judge_limit(&mut self, entry: &Entry, before: &Entry) {
        let most = LIMIT as usize;
        let others = self.limited.values().copied();
        let others = others.filter(|other| other.task != entry.task);
        let (valid, over): (Vec<&Entry>, Vec<&Entry>) =
            others.partition(|other| other.is_valid_at(entry.granted()));
        let run = valid.len() + 1;
        self.tally.limited += 1;
        self.tally.filled += u64::from(run == most);
        // Without expired leases there would be no place.
        let over: Vec<&Entry> = over
            .into_iter()
            .chain(before.held.then_some(before))
            .collect();
        let late = over
            .iter()
            .map(|other| entry.granted() - other.expiry)
            .min();
        self.tally.places_freed +=
            u64::from(valid.len() + over.len() >= most && late.is_some_and(|late| late < SOON));
        if run > most {
            let (task, token) = (entry.task, entry.token);
            self.wrong.push(format!(
                "the limit is {LIMIT}, and the store let {run} run when it gave out task {task} with token {token}"
            ));
        }
    }
}

/// The order in which the tasks of a lane run: a task that has begun and was not given back goes before all others.
const fn order(entry: &Entry) -> (bool, u8, i64, i64) {
    (!entry.held, entry.priority, entry.run_at, entry.task)
}

#[cfg(test)]
mod tests;
