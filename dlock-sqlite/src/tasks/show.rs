//! The listings and counts of tasks, for people.

use std::collections::BTreeMap;

use dlock_tasks::{Count, Filter, Holder, State, Task, TaskId};
use rusqlite::{Params, Row};

use super::{
    claim::pass_over,
    database::Work,
    row::{self, errors, errors_with, instant, json, micros},
};
use crate::{boot_id::BootId, clock::Now, store::Failure};

/// The default number of tasks of a page.
const PAGE: usize = 100;

impl Work<'_> {
    pub(super) fn task(&self, id: TaskId) -> Result<Option<Task>, Failure> {
        match self.find(id)? {
            (Some(task), now) => Ok(Some(shown(task, now))),
            (None, _) => self.done(id),
        }
    }

    pub(super) fn list(&self, filter: &Filter) -> Result<Vec<Task>, Failure> {
        let limit = match filter.limit {
            0 => PAGE,
            limit => limit,
        };
        let first = if filter.newest_first { i64::MAX } else { 0 };
        let after = filter.after.map_or(first, TaskId::get);
        let order = |sql: &str| match filter.newest_first {
            true => sql
                .replace("id > ?2", "id < ?2")
                .replace("BY id", "BY id DESC"),
            false => sql.to_owned(),
        };
        let mut tasks = Vec::new();
        // One damaged row hides no other.
        if !filter.state.is_some_and(State::has_ended) {
            let parameters = (&filter.queue, after, &filter.kind);
            self.walk(
                &order(include_str!("../sql/tasks/list.sql")),
                parameters,
                |row, now| {
                    match self.task_of(row, now) {
                        Ok(task) if filter.state.is_none_or(|state| task.state(now) == state) => {
                            tasks.push(shown(task, now));
                        }
                        Ok(_) => {}
                        Err(failure) => pass_over(failure)?,
                    }
                    Ok(tasks.len() < limit)
                },
            )?;
        }
        if filter.state.is_none_or(State::has_ended) {
            let (room, state) = (tasks.len() + limit, filter.state.map(State::as_str));
            let parameters = (&filter.queue, after, state, &filter.kind);
            self.each_done(
                &order(include_str!("../sql/tasks/list_done.sql")),
                parameters,
                |ended| {
                    match ended {
                        Ok(task) => tasks.push(task),
                        Err(failure) => pass_over(failure)?,
                    }
                    Ok(tasks.len() < room)
                },
            )?;
        }
        tasks.sort_unstable_by_key(|task| task.id);
        if filter.newest_first {
            tasks.reverse();
        }
        tasks.truncate(limit);
        Ok(tasks)
    }

    pub(super) fn done(&self, id: TaskId) -> Result<Option<Task>, Failure> {
        let mut found = None;
        self.each_done(
            include_str!("../sql/tasks/one_done.sql"),
            [id.get()],
            |task| {
                found = Some(task?);
                Ok(false)
            },
        )?;
        Ok(found)
    }

    /// Walks over tasks that have ended until `each` returns `false`.
    fn each_done(
        &self,
        sql: &str,
        parameters: impl Params,
        mut each: impl FnMut(Result<Task, Failure>) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(parameters)?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            let task = match ended(row) {
                Ok(Some(task)) => Ok(task),
                Ok(None) => Err(self.bad_row(id, "its state is none")),
                Err(error) => Err(self.bad_row(id, &error.to_string())),
            };
            if !each(task)? {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn counts(&self) -> Result<Vec<Count>, Failure> {
        let mut counts: BTreeMap<(String, State), u64> = BTreeMap::new();
        let now = self.now();
        let mut statement = self
            .connection
            .prepare_cached(include_str!("../sql/tasks/counts.sql"))?;
        let mut rows = statement.query((micros(now), now.instant))?;
        while let Some(row) = rows.next()? {
            let state = match (row.get(1)?, row.get(2)?) {
                (false, false) => State::Scheduled,
                (false, true) => State::Ready,
                (true, _) if self.has_run_out(row)? => State::Stalled,
                (true, _) => State::Running,
            };
            *counts.entry((row.get(0)?, state)).or_default() +=
                row.get::<_, i64>(5)?.unsigned_abs();
        }
        let mut statement = self
            .connection
            .prepare_cached(include_str!("../sql/tasks/counts_done.sql"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Ok(state) = row.get::<_, String>(1)?.parse() {
                counts.insert((row.get(0)?, state), row.get::<_, i64>(2)?.unsigned_abs());
            }
        }
        let count = |((queue, state), tasks)| Count::new(queue, state, tasks);
        Ok(counts.into_iter().map(count).collect())
    }

    /// Whether leases of this boot with this expiry have ended.
    fn has_run_out(&self, row: &Row<'_>) -> Result<bool, Failure> {
        use crate::boot_id::Relation;

        let boot = row.get::<_, Option<String>>(3)?;
        let boot = boot.and_then(|boot| BootId::parse(&boot));
        let relation = boot.map(|boot| self.clock.boot().relation(boot));
        Ok(match relation {
            Some(Relation::Same) => row.get::<_, Option<bool>>(4)?.unwrap_or_default(),
            Some(Relation::Over) => true,
            Some(Relation::Strange) | None => false,
        })
    }
}

fn shown(task: row::Task, now: Now) -> Task {
    let holder = task.holder().map(|record| {
        let remaining = record.remaining.unwrap_or_default();
        Holder::new(record.owner.clone(), record.token, remaining, record.asked)
    });
    Task::builder()
        .state(task.state(now))
        .holder(holder)
        .id(task.seat.id)
        .queue(task.queue)
        .kind(task.kind)
        .priority(task.priority)
        .run_at(instant(task.run_at))
        .enqueued_at(instant(task.created))
        .ended_at(None)
        .attempt(task.seat.attempt)
        .max_attempts(task.seat.max_attempts)
        .key(task.key)
        .lane(task.lane)
        .payload(task.payload)
        .checkpoint(task.checkpoint)
        .output(None)
        .errors(errors_with(
            task.errors,
            task.seat.attempt,
            task.created,
            task.flaw.as_deref(),
        ))
        .build()
}

/// `None` if its state is invalid.
fn ended(row: &Row<'_>) -> rusqlite::Result<Option<Task>> {
    let (Some(id), Ok(state)) = (
        TaskId::new(row.get(0)?),
        row.get::<_, String>(12)?.parse::<State>(),
    ) else {
        return Ok(None);
    };
    let (mut flaw, attempt, created) = (None, row.get(4)?, row.get(10)?);
    let payload = json(row, (8, "payload"), &mut flaw)?.unwrap_or_default();
    let checkpoint = json(row, (11, "checkpoint"), &mut flaw)?;
    let output = json(row, (13, "output"), &mut flaw)?;
    let errors = errors(&row.get::<_, String>(9)?);
    Ok(Some(
        Task::builder()
            .id(id)
            .state(state)
            .holder(None)
            .queue(row.get(1)?)
            .priority(row.get(2)?)
            .run_at(instant(row.get(3)?))
            .attempt(attempt)
            .max_attempts(row.get(5)?)
            .kind(row.get(6)?)
            .key(row.get(7)?)
            .payload(payload)
            .errors(errors_with(errors, attempt, created, flaw.as_deref()))
            .enqueued_at(instant(created))
            .checkpoint(checkpoint)
            .output(output)
            .ended_at(Some(instant(row.get(14)?)))
            .lane(row.get(15)?)
            .build(),
    ))
}
