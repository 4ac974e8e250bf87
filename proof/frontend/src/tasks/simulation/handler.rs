//! What the handlers of a simulated process do.

use std::{panic::resume_unwind, time::Duration};

use dlock_tasks::{Context, Payload, Stop};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::{
    monitor::{Monitor, ProcessId, is_done},
    plan::{How, Plan},
};

/// The longest of any attempt but the first one.
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

/// A task of the clock.
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
                // A checkpoint that nobody answers for may be kept.
                if context.keep(&step).await.is_ok() {
                    attempt.kept(step);
                }
                sleep(takes / 4).await;
            }
        }
        How::Snoozes(time) if found == 0 => {
            // Without it, it snoozes once more.
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
        // Without the words that a panic prints.
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

/// What a task of the plan is.
pub(super) fn planned(plan: &Plan, task: &Planned) -> (How, Duration) {
    let task = plan.tasks[task.place];
    (task.how, task.takes)
}
