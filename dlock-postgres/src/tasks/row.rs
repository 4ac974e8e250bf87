//! A task as the wire delivers it. A person or another program may have put anything into the tables, so every column
//! is checked before it is used.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use deadpool_postgres::tokio_postgres::Row;
use dlock_core::{FencingToken, ProviderError, Record};
use dlock_tasks::{
    ClaimKey, ClaimedTask, DEAD_IN_A_CLAIM, Ending, FailedAttempt, Holder, How, State, Task,
    TaskId, json::read,
};
use serde_json::Value;
use uuid::Uuid;

use super::cursors::Key;
use crate::{
    error,
    record::{self, Flaw, instant, optional, value},
};

/// The content of a row of `call_claim.sql`.
pub(super) enum Given {
    /// A task that was given out, with its priority, its place in the index that claims walk along, and whether it has
    /// a lane.
    Task {
        task: ClaimedTask,
        place: Option<(usize, Key)>,
        lane: bool,
    },
    /// The ending of a task whose JSON no worker can read.
    Unreadable(Ending),
    /// A task died; the log reports it.
    Dead,
    /// The last row.
    End(Result<EndOfClaim, ProviderError>),
}

/// How long until something can be claimed; how long a walk from the beginning took.
pub(super) type EndOfClaim = (Option<Duration>, Option<Duration>);

/// # Errors
/// A row that is no task.
pub(super) fn given(row: &Row, uuid: Uuid) -> Result<Given, ProviderError> {
    if is_dead(row) {
        return Ok(Given::Dead);
    }
    let Some(id) = optional::<i64>(row, "id", 0).map_err(|flaw| error::bad_answer(&flaw))? else {
        return Ok(Given::End(end_of_claim(row)));
    };
    let key = || {
        Ok(ClaimKey::new(
            task_id(id)?,
            uuid,
            token(value(row, "token", 1)?)?,
        ))
    };
    let key = key().map_err(|flaw: Flaw| bad_task(id, &flaw))?;
    let task = || -> Result<ClaimedTask, Flaw> {
        let task = ClaimedTask::new(
            key,
            value(row, "queue", 2)?,
            value(row, "kind", 3)?,
            json(row, "payload", 4)?,
        );
        Ok(task
            .attempt(count(row, "attempt", 5)?, count(row, "max_attempts", 6)?)
            .checkpoint(optional_json(row, "checkpoint", 7)?)
            .lost(count(row, "lost", 13)?))
    };
    Ok(match task() {
        Ok(task) => Given::Task {
            place: place(row, id),
            lane: value(row, "has_lane", 12).unwrap_or(false),
            task,
        },
        Err(error) => Given::Unreadable(Ending::new(key, How::Discard { error })),
    })
}

/// Whether a row of `call_claim.sql` is about a task that has died. If so, this logs it: no worker does.
fn is_dead(row: &Row) -> bool {
    let id = optional::<i64>(row, "id", 0).ok().flatten();
    let token = optional::<i64>(row, "token", 1);
    if let (Some(task), Ok(None)) = (id, token) {
        let queue: &str = value(row, "queue", 2).unwrap_or_default();
        let kind: &str = value(row, "kind", 3).unwrap_or_default();
        let attempts = count(row, "attempt", 5).unwrap_or_default();
        tracing::error!(task, queue, kind, attempts, "{DEAD_IN_A_CLAIM}");
        return true;
    }
    false
}

/// The priority of a task that was given out, and its place in the index that claims walk along.
fn place(row: &Row, id: i64) -> Option<(usize, Key)> {
    let priority: i16 = value(row, "priority", 10).ok()?;
    let run_at = instant(row, "run_at", 11).ok()?;
    Some((usize::try_from(priority).ok()?, (run_at, id)))
}

fn end_of_claim(row: &Row) -> Result<EndOfClaim, ProviderError> {
    let span = |column, at| -> Result<Option<Duration>, ProviderError> {
        let micros: Option<i64> =
            optional(row, column, at).map_err(|flaw| error::bad_answer(&flaw))?;
        Ok(micros.map(|micros| Duration::from_micros(u64::try_from(micros).unwrap_or(0))))
    };
    Ok((span("wait", 8)?, span("swept", 9)?))
}

/// The number of a row of `list.sql`.
pub(super) fn listed(row: &Row) -> Result<Option<TaskId>, ProviderError> {
    let id = value(row, "id", 11).map_err(|flaw| error::bad_answer(&flaw))?;
    Ok(TaskId::new(id))
}

/// A task as `list.sql` shows it.
pub(super) fn shown(row: &Row) -> Result<Task, ProviderError> {
    let id: i64 = value(row, "id", 11).map_err(|flaw| error::bad_answer(&flaw))?;
    task(row, id).map_err(|flaw| bad_task(id, &flaw))
}

fn task(row: &Row, id: i64) -> Result<Task, Flaw> {
    let state: &str = value(row, "state", 24)?;
    let state: State = state.parse().map_err(|_| "its state is none")?;
    let record = match optional::<Uuid>(row, "uuid", 0)? {
        Some(_) => Some(record::read(row)?),
        None => None,
    };
    let holder = record.filter(|record| !record.released).map(holder);
    let ended: Option<SystemTime> = if state.has_ended() {
        Some(time(row, "ended", 26)?)
    } else {
        None
    };
    let priority: i16 = value(row, "priority", 13)?;
    let attempt = count(row, "attempt", 15)?;
    let created = u64::try_from(instant(row, "created", 22)?).unwrap_or(0);
    let mut errors = errors(value(row, "errors", 21)?);
    // The task can be shown without it.
    let mut readable = |column, at| {
        optional_json(row, column, at).unwrap_or_else(|flaw| {
            if errors.iter().all(|failed| failed.error != flaw) {
                errors.push(FailedAttempt::new(attempt, created, &flaw));
            }
            None
        })
    };
    let payload = readable("payload", 20).unwrap_or_default();
    let (checkpoint, output) = (readable("checkpoint", 23), readable("output", 25));
    Ok(Task::builder()
        .id(task_id(id)?)
        .queue(value(row, "queue", 12)?)
        .priority(u8::try_from(priority).map_err(|_| "its priority is not from 0 to 9")?)
        .run_at(time(row, "run_at", 14)?)
        .attempt(attempt)
        .max_attempts(count(row, "max_attempts", 16)?)
        .kind(value(row, "kind", 17)?)
        .key(optional(row, "key", 18)?)
        .lane(optional(row, "lane", 19)?)
        .payload(payload)
        .enqueued_at(UNIX_EPOCH + Duration::from_micros(created))
        .checkpoint(checkpoint)
        .state(state)
        .output(output)
        .ended_at(ended)
        .holder(holder)
        .errors(errors)
        .build())
}

fn holder(record: Record) -> Holder {
    let remaining = record.remaining.unwrap_or_default();
    Holder::new(record.owner, record.token, remaining, record.asked)
}

/// A row of the table that is no task. It was not written to.
pub(super) fn bad_task(id: i64, flaw: &str) -> ProviderError {
    ProviderError::fatal(format!(
        "task {id} cannot be read: {flaw}; mend its row in the table `dlock_task`, or delete it"
    ))
}

pub(super) fn task_id(id: i64) -> Result<TaskId, Flaw> {
    TaskId::new(id).ok_or_else(|| "its number is not positive".into())
}

fn token(token: i64) -> Result<FencingToken, Flaw> {
    let token = u64::try_from(token).ok().and_then(FencingToken::new);
    token.ok_or_else(|| "its token is out of range".into())
}

fn count(row: &Row, column: &str, at: usize) -> Result<u32, Flaw> {
    let number: i32 = value(row, column, at)?;
    u32::try_from(number).map_err(|_| format!("its {column} is {number}"))
}

/// JSON text.
fn json(row: &Row, column: &str, at: usize) -> Result<Value, Flaw> {
    optional_json(row, column, at)?.ok_or_else(|| format!("its {column} is null"))
}

fn optional_json(row: &Row, column: &str, at: usize) -> Result<Option<Value>, Flaw> {
    let text: Option<&str> = optional(row, column, at)?;
    text.map(read)
        .transpose()
        .map_err(|error| format!("its {column} cannot be read: {error}"))
}

/// Failed attempts. They are for people: entries that cannot be read are left out.
fn errors(text: &str) -> Vec<FailedAttempt> {
    serde_json::from_str(text).unwrap_or_default()
}

/// An instant; before 1970 is 1970.
fn time(row: &Row, column: &str, at: usize) -> Result<SystemTime, Flaw> {
    let micros = instant(row, column, at)?;
    Ok(UNIX_EPOCH + Duration::from_micros(u64::try_from(micros).unwrap_or(0)))
}
