//! A task in the table. A person or another program may have put anything there, so every column is checked before it
//! is used.

use std::{
    ops::Deref,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use dlock_core::{ProviderError, Record};
use dlock_tasks::{ClaimKey, FailedAttempt, State, TaskId, json::read};
use rusqlite::{Params, Row, types::ValueRef};
use serde_json::Value;

use super::database::Work;
use crate::{clock::Now, record, store::Failure};

/// The holder of a task that has not ended, and how often it was tried.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) id: TaskId,
    /// The newest term; none before the first claim, and after a retry.
    pub(super) record: Option<Record>,
    pub(super) attempt: u32,
    pub(super) max_attempts: u32,
}

/// A task that has not ended.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) seat: Seat,
    /// The newest token, 0 before the first claim.
    pub(super) token: u64,
    pub(super) queue: String,
    pub(super) priority: u8,
    /// Unix time in microseconds, like `created`.
    pub(super) run_at: i64,
    pub(super) kind: String,
    pub(super) key: Option<String>,
    pub(super) lane: Option<String>,
    pub(super) payload: Value,
    pub(super) errors: Vec<FailedAttempt>,
    pub(super) created: i64,
    pub(super) checkpoint: Option<Value>,
    pub(super) checkpoints: u64,
    /// The token of the newest claim that ended by its own ending, and the task's outcome then.
    pub(super) left: Option<(i64, State)>,
    /// The reason why its payload or its checkpoint cannot be read.
    pub(super) flaw: Option<String>,
}

impl Deref for Task {
    type Target = Seat;

    fn deref(&self) -> &Seat {
        &self.seat
    }
}

impl Seat {
    /// Whether a worker has it, or had it when its lease ran out.
    pub(super) fn holder(&self) -> Option<&Record> {
        self.record.as_ref().filter(|record| !record.released)
    }

    /// Whether no lease on it is live.
    pub(super) fn is_free(&self) -> bool {
        self.holder()
            .is_none_or(|record| record.remaining == Some(Duration::ZERO))
    }

    /// Whether no worker gets it once it is free: it was to be cancelled, or no attempt remains.
    pub(super) fn is_over(&self) -> bool {
        self.holder().is_some_and(|record| record.asked) || self.attempt >= self.max_attempts
    }

    /// Whether this claim has it, expired or not.
    pub(super) fn is_of(&self, key: &ClaimKey) -> bool {
        let record = self.record.as_ref();
        record.is_some_and(|record| record.uuid == key.uuid && record.token == key.token)
    }
}

impl Task {
    pub(super) fn state(&self, now: Now) -> State {
        match self.holder() {
            Some(_) if self.is_free() => State::Stalled,
            Some(_) => State::Running,
            None if self.run_at > micros(now) => State::Scheduled,
            None => State::Ready,
        }
    }
}

impl Work<'_> {
    /// A task that has not ended, and the time, read after it.
    pub(super) fn find(&self, id: TaskId) -> Result<(Option<Task>, Now), Failure> {
        let mut found = None;
        let now = self.each(include_str!("../sql/tasks/one.sql"), [id.get()], |task| {
            found = Some(task);
            Ok(false)
        })?;
        Ok((found, now))
    }

    /// Walks over the tasks of a query until `each` returns `false`; see [`walk`](Self::walk).
    pub(super) fn each(
        &self,
        sql: &str,
        parameters: impl Params,
        mut each: impl FnMut(Task) -> Result<bool, Failure>,
    ) -> Result<Now, Failure> {
        self.walk(sql, parameters, |row, now| each(self.task_of(row, now)?))
    }

    /// Walks over the rows of a query until `each` returns `false`. The time was read after the first row: a verdict
    /// never rests on a time before the state that it judges.
    pub(super) fn walk(
        &self,
        sql: &str,
        parameters: impl Params,
        mut each: impl FnMut(&Row<'_>, Now) -> Result<bool, Failure>,
    ) -> Result<Now, Failure> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(parameters)?;
        let mut row = rows.next()?;
        let now = self.now();
        while let Some(found) = row {
            if !each(found, now)? {
                break;
            }
            row = rows.next()?;
        }
        Ok(now)
    }

    /// The seat in a row: its record, its number, its attempts.
    pub(super) fn seat_of(&self, row: &Row<'_>, now: Now) -> Result<Seat, Failure> {
        let id: i64 = row.get(11)?;
        let record = match row.get_ref(0)? {
            ValueRef::Null => None,
            _ => match record::read(row, self.clock, now)? {
                Ok(record) => Some(record),
                Err(flaw) => return Err(self.bad_row(id, &flaw)),
            },
        };
        let attempts = || Ok::<_, rusqlite::Error>((row.get(12)?, row.get(13)?));
        let (attempt, max_attempts) =
            attempts().map_err(|error| self.bad_row(id, &error.to_string()))?;
        Ok(Seat {
            id: self.id(id)?,
            record,
            attempt,
            max_attempts,
        })
    }

    pub(super) fn task_of(&self, row: &Row<'_>, now: Now) -> Result<Task, Failure> {
        let seat = self.seat_of(row, now)?;
        let id = seat.id.get();
        let mut flaw = None;
        let task = || {
            Ok::<_, rusqlite::Error>(Task {
                seat,
                token: row.get::<_, i64>(4)?.unsigned_abs(),
                queue: row.get(14)?,
                priority: row.get(15)?,
                run_at: row.get(16)?,
                kind: row.get(17)?,
                key: row.get(18)?,
                payload: json(row, (19, "payload"), &mut flaw)?.unwrap_or_default(),
                errors: errors(&row.get::<_, String>(20)?),
                created: row.get(21)?,
                checkpoint: json(row, (22, "checkpoint"), &mut flaw)?,
                checkpoints: row.get::<_, i64>(23)?.unsigned_abs(),
                lane: row.get(24)?,
                left: left(row)?,
                flaw,
            })
        };
        task().map_err(|error| self.bad_row(id, &error.to_string()))
    }

    pub(super) fn id(&self, id: i64) -> Result<TaskId, Failure> {
        TaskId::new(id).ok_or_else(|| self.bad_row(id, "its number is not positive"))
    }

    pub(super) fn bad_row(&self, id: i64, flaw: &str) -> Failure {
        Failure::Answer(ProviderError::fatal(format!(
            "task {id} in {} cannot be read: {flaw}; mend its row in the table `dlock_task`, or delete it",
            self.path.display()
        )))
    }
}

fn left(row: &Row<'_>) -> rusqlite::Result<Option<(i64, State)>> {
    let (ending, became): (Option<i64>, Option<String>) = (row.get(25)?, row.get(26)?);
    Ok(ending.zip(became.and_then(|state| state.parse().ok())))
}

/// JSON text in a column. If it cannot be read, `flaw` says why.
pub(super) fn json(
    row: &Row<'_>,
    (column, name): (usize, &str),
    flaw: &mut Option<String>,
) -> rusqlite::Result<Option<Value>> {
    let text: Option<String> = row.get(column)?;
    Ok(text.and_then(|text| match read(&text) {
        Ok(value) => Some(value),
        Err(error) => {
            flaw.get_or_insert_with(|| format!("its {name} cannot be read: {error}"));
            None
        }
    }))
}

/// Failed attempts, with the reason why part of the task is missing, unless they already include it.
pub(super) fn errors_with(
    mut errors: Vec<FailedAttempt>,
    attempt: u32,
    created: i64,
    flaw: Option<&str>,
) -> Vec<FailedAttempt> {
    let flaw = flaw.filter(|flaw| errors.iter().all(|failed| failed.error != *flaw));
    errors.extend(flaw.map(|flaw| FailedAttempt::new(attempt, created.unsigned_abs(), flaw)));
    errors
}

/// Failed attempts. They are for people: entries that cannot be read are left out.
pub(super) fn errors(text: &str) -> Vec<FailedAttempt> {
    serde_json::from_str(text).unwrap_or_default()
}

/// Unix time in microseconds.
pub(super) fn micros(now: Now) -> i64 {
    i64::try_from(now.unix_micros).unwrap_or(i64::MAX)
}

/// The instant that is `by` later.
pub(super) fn later(micros: i64, by: Duration) -> i64 {
    micros.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX))
}

/// An instant in microseconds of Unix time; before 1970 is 1970.
pub(super) fn instant(micros: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
