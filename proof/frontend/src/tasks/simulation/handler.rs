//! The handlers of a simulated process.

use std::{panic::resume_unwind, time::Duration};

use dlock_tasks::{Context, Payload, Stop};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::{
    monitor::{Monitor, ProcessId, is_done},
    plan::{How, Plan},
};

/// The longest duration of any attempt but the first one.
const SHORT: Duration = Duration::from_millis(400);
/// How long a handler takes that hangs.
const HANGS: Duration = Duration::from_secs(60);

/// A task of the plan.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::tasks) struct Planned {
    /// Its place in the plan.
    pub(in crate::tasks) place: usize,
}

impl Payload for Planned {
    const KIND: &'static str = "planned";
}

/// A task of the schedule.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Tick {}

impl Payload for Tick {
    const KIND: &'static str = "tick";
}

/// One attempt at a task of the plan.
pub(super) async fn handle(
    monitor: Monitor,
    process: ProcessId,
    (how, takes): (How, Duration),
    context: Context,
) -> Result<(), Stop> {
    let found = context.checkpoint()?.unwrap_or(0);
    let attempt = monitor.begins(process, &context, found);
    // Later ones are short, so that every task ends in some attempt, whatever the time-outs are.
    let takes = if context.attempt() > 1 {
        takes.min(SHORT)
    } else {
        takes
    };
    sleep(takes).await;
    let done = is_done(how, context.attempt());
    match how {
        How::Steps(steps) => {
            for step in found + 1..=steps {
                // A checkpoint without an answer may have been stored.
                if context.keep(&step).await.is_ok() {
                    attempt.kept(step);
                }
                sleep(takes / 4).await;
            }
        }
        How::Snoozes(time) if found == 0 => {
            // Without it, the task snoozes once more.
            if context.keep(&1).await.is_ok() {
                attempt.kept(1);
            }
            attempt.answers(how);
            return Err(Stop::Snooze(time));
        }
        How::Hangs if context.attempt() == 1 => sleep(HANGS).await,
        _ => {}
    }
    if how == How::Panics && !done {
        attempt.answers(how);
        // Without the message that a panic prints.
        resume_unwind(Box::new("this handler panics"));
    }
    attempt.answers(how);
    match how {
        How::Discards => Err(Stop::discard("not to be done")),
        How::Fails(_, Some(after)) if !done => Err(Stop::retry_in(after, "it fails")),
        How::Fails(_, None) if !done => Err(Stop::from("it fails")),
        _ => Ok(()),
    }
}

/// The plan of a task.
pub(super) fn planned(plan: &Plan, task: &Planned) -> (How, Duration) {
    let task = plan.tasks[task.place];
    (task.how, task.takes)
}
