//! The failed attempts that a row keeps.

use dlock_tasks::FailedAttempt;

use super::row::Task;
use crate::clock::Now;

/// The failed attempts of a task, including that of a worker that fell silent.
pub(super) fn with_silence(task: &Task, now: Now) -> Vec<FailedAttempt> {
    let owner = task.holder().map_or("", |record| &record.owner);
    let silence = FailedAttempt::silence(&task.errors, task.attempt, now.unix_micros, owner);
    with(task, silence)
}

pub(super) fn with_error(task: &Task, now: Now, error: &str) -> Vec<FailedAttempt> {
    with(
        task,
        FailedAttempt::new(task.attempt, now.unix_micros, error),
    )
}

fn with(task: &Task, failed: FailedAttempt) -> Vec<FailedAttempt> {
    let mut errors = task.errors.clone();
    errors.push(failed);
    let old = errors.len().saturating_sub(FailedAttempt::KEPT);
    errors.drain(..old);
    errors
}

pub(super) fn text(errors: &[FailedAttempt]) -> String {
    serde_json::to_string(errors).unwrap_or_else(|_| "[]".to_owned())
}
