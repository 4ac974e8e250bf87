//! The rules for each task in its final state, and for the data that was written with it.

use std::{collections::BTreeMap, time::UNIX_EPOCH};

use dlock_tasks::State;
use uuid::Uuid;

use crate::tasks::{
    evidence::{Ended, Evidence},
    note::What,
    payload::How,
};

/// The violations, in words.
pub(super) fn broken(evidence: &Evidence) -> Vec<String> {
    let mut wrong = Vec::new();
    let effects = tally(evidence.effects.iter().map(|(task, _)| *task));
    let children = tally(evidence.errands.values().filter_map(|it| it.errand.parent));
    for (id, task) in &evidence.errands {
        wrong.extend(end(evidence, *id, task));
        let once = u64::from(task.state == State::Succeeded && task.errand.within);
        for (what, counted) in [
            ("effects in the database", &effects),
            ("tasks that follow", &children),
        ] {
            let is = counted.get(id).copied().unwrap_or_default();
            if is != once {
                let state = task.state;
                wrong.push(format!("{what} of task {id}, {state}: {is}, not {once}"));
            }
        }
    }
    for id in effects.keys().chain(children.keys()) {
        if !evidence.errands.contains_key(id) {
            wrong.push(format!("an effect of task {id}, which is not there"));
        }
    }
    wrong.extend(stale(evidence));
    wrong.extend(orders(evidence));
    wrong.extend(accounts(evidence));
    wrong.extend(ticks(evidence));
    wrong
}

/// How a task ended.
fn end(evidence: &Evidence, id: i64, task: &Ended) -> Option<String> {
    let Ended {
        errand,
        state,
        attempt,
    } = task;
    let how = errand.how;
    let may = match state {
        State::Succeeded => match how {
            How::Fails | How::Discards => false,
            How::FailsTwice => *attempt >= 3,
            How::Panics => *attempt >= 2,
            _ => *attempt >= 1,
        },
        State::Dead => match how {
            How::Fails => *attempt == how.attempts(),
            How::Discards => true,
            _ => false,
        },
        State::Cancelled => evidence.cancelled.contains(&id),
        // Every task must end.
        _ => false,
    };
    (!may).then(|| format!("task {id} ({how:?}) is {state} after {attempt} attempts"))
}

/// K5, K7: once a claim has completed a task, no later claim gets it, so a completion next to a later claim was stale.
fn stale(evidence: &Evidence) -> Vec<String> {
    let mut newest: BTreeMap<i64, u64> = BTreeMap::new();
    for note in &evidence.notes {
        if matches!(note.what, What::Began { .. }) {
            let token = newest.entry(note.task).or_default();
            *token = note.token.max(*token);
        }
    }
    let effects = evidence.effects.iter().filter_map(|(task, token)| {
        let later = newest.get(task).filter(|newest| *newest > token)?;
        Some(format!(
            "task {task} was completed with token {token}, though {later} had begun it"
        ))
    });
    effects.collect()
}

/// Rows and tasks that were written in one transaction both exist; and so does everything that was acknowledged.
fn orders(evidence: &Evidence) -> Vec<String> {
    let rows = tally(evidence.orders.iter().copied());
    let tasks = tally(evidence.errands.values().filter_map(|it| it.errand.order));
    let mut wrong = Vec::new();
    let placed = evidence.notes.iter().filter_map(|note| match note.what {
        What::Placed { order } => Some(order),
        _ => None,
    });
    let mut all: Vec<Uuid> = rows.keys().chain(tasks.keys()).copied().collect();
    all.extend(placed.clone());
    all.sort();
    all.dedup();
    for order in all {
        let is = (rows.get(&order), tasks.get(&order));
        if is != (Some(&1), Some(&1)) {
            wrong.push(format!("rows and tasks of order {order}: {is:?}"));
        }
    }
    wrong
}

/// I5: an account that checks tokens accepts none that is smaller than an earlier one.
fn accounts(evidence: &Evidence) -> Vec<String> {
    let mut highest: BTreeMap<i64, u64> = BTreeMap::new();
    let mut wrong = Vec::new();
    for write in evidence.writes.iter().filter(|it| it.fenced && it.accepted) {
        let before = highest.entry(write.task).or_default();
        if write.token < *before {
            let (task, token) = (write.task, write.token);
            wrong.push(format!(
                "the account of task {task} took token {token} after {before}"
            ));
        }
        *before = write.token.max(*before);
    }
    wrong
}

/// K10: each instant, a second apart, has at most one task, so that the tasks are not more than the instants.
fn ticks(evidence: &Evidence) -> Option<String> {
    let second = |tick: &std::time::SystemTime| {
        let since = tick.duration_since(UNIX_EPOCH).unwrap_or_default();
        since.as_secs()
    };
    let first = second(evidence.ticks.first()?);
    let too_many = |(place, tick): (usize, &std::time::SystemTime)| {
        // The first may be the task of the previous instant, enqueued late.
        let instants = second(tick) - first + 2;
        (place as u64 >= instants)
            .then(|| format!("{} tasks of the clock for {instants} instants", place + 1))
    };
    evidence.ticks.iter().enumerate().find_map(too_many)
}

fn tally<T: Ord>(all: impl Iterator<Item = T>) -> BTreeMap<T, u64> {
    let mut counts = BTreeMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    counts
}
