//! The view of a queue for people.

use std::{collections::BTreeMap, time::SystemTime};

use dlock_tasks::{Count, Filter, Holder, LimitedQueue, PausedQueue, Task, TaskId};

use super::table::{Row, Table};

/// How many tasks a page has by default.
const PAGE: usize = 100;

impl Table {
    pub(super) fn task(&self, id: TaskId, now: SystemTime) -> Option<Task> {
        self.rows.get(&id).map(|row| shown(row, now))
    }

    pub(super) fn list(&self, filter: &Filter, now: SystemTime) -> Vec<Task> {
        let limit = if filter.limit == 0 {
            PAGE
        } else {
            filter.limit
        };
        let mut rows: Vec<_> = self.rows.values().collect();
        if filter.newest_first {
            rows.reverse();
        }
        rows.into_iter()
            .filter(|row| {
                filter
                    .after
                    .is_none_or(|after| row.id != after && (row.id < after) == filter.newest_first)
            })
            .filter(|row| {
                filter
                    .kind
                    .as_ref()
                    .is_none_or(|kind| row.new.kind == *kind)
            })
            .filter(|row| {
                filter
                    .queue
                    .as_ref()
                    .is_none_or(|queue| row.new.queue == *queue)
            })
            .filter(|row| filter.state.is_none_or(|state| row.state(now) == state))
            .take(limit)
            .map(|row| shown(row, now))
            .collect()
    }

    pub(super) fn paused(&self) -> Vec<PausedQueue> {
        let paused =
            |(queue, since): (&String, &SystemTime)| PausedQueue::new(queue.clone(), *since);
        self.paused.iter().map(paused).collect()
    }

    pub(super) fn limits(&self) -> Vec<LimitedQueue> {
        let limits = self.limits.iter();
        let limited = |(queue, limit): (&String, &u32)| LimitedQueue::new(queue.clone(), *limit);
        limits.map(limited).collect()
    }

    pub(super) fn counts(&self, now: SystemTime) -> Vec<Count> {
        let mut counts = BTreeMap::new();
        for row in self.rows.values() {
            *counts
                .entry((row.new.queue.clone(), row.state(now)))
                .or_default() += 1;
        }
        let count = |((queue, state), tasks)| Count::new(queue, state, tasks);
        counts.into_iter().map(count).collect()
    }
}

fn shown(row: &Row, now: SystemTime) -> Task {
    let held = row.held().filter(|_| row.done.is_none());
    let holder = held.map(|term| {
        let record = term.shown(now);
        Holder::new(
            record.owner,
            record.token,
            record.remaining.unwrap_or_default(),
            record.asked,
        )
    });
    let new = row.new.clone();
    Task::builder()
        .id(row.id)
        .queue(new.queue)
        .kind(new.kind)
        .priority(new.priority)
        .state(row.state(now))
        .run_at(row.run_at)
        .enqueued_at(row.enqueued_at)
        .ended_at(row.done.as_ref().map(|done| done.at))
        .attempt(row.attempt)
        .max_attempts(new.max_attempts)
        .key(new.key)
        .lane(new.lane)
        .payload(new.payload)
        .checkpoint(row.checkpoint.clone())
        .output(row.done.as_ref().and_then(|done| done.output.clone()))
        .errors(row.errors.clone())
        .holder(holder)
        .build()
}
