//! `dlock tasks cancel` and `dlock tasks retry`: tasks one after the other, each with its own line.

use std::process::ExitCode;

use dlock_stores::Queue;
use dlock_tasks::{Enqueued, State, TaskId};
use serde_json::{Value, json};

use super::{answer, none, rows};
use crate::{
    exit::{Exit, Failure},
    output,
};

/// The changes made so far. They are printed even if an error interrupts them.
struct Changes {
    /// For programs: one value for each task, written at the end.
    rows: Option<Vec<Value>>,
    missing: bool,
}

impl Changes {
    fn new(json: bool) -> Self {
        Self {
            rows: json.then(Vec::new),
            missing: false,
        }
    }

    /// Reports a task: for people, and for programs.
    fn done(&mut self, text: &str, row: Value) -> Result<(), Failure> {
        match &mut self.rows {
            Some(rows) => {
                rows.push(row);
                Ok(())
            }
            None => output::line(format_args!("{text}")),
        }
    }

    /// Nothing can be done for this task.
    fn missing(&mut self, why: &Failure, row: Value) {
        self.missing = true;
        match &mut self.rows {
            Some(rows) => rows.push(row),
            None => drop(why.report()),
        }
    }

    fn end(self, ended: Result<(), Failure>) -> Result<ExitCode, Failure> {
        if let Some(rows) = self.rows {
            output::write(&rows::to_json(&rows)?)?;
        }
        ended?;
        Ok(if self.missing {
            Exit::Nothing.into()
        } else {
            ExitCode::SUCCESS
        })
    }
}

pub(super) async fn cancel(
    queue: &Queue,
    ids: &[TaskId],
    force: bool,
    json: bool,
) -> Result<ExitCode, Failure> {
    let mut changes = Changes::new(json);
    let ended = async {
        for &id in ids {
            let was = answer(queue, "can't cancel", queue.tasks().cancel(id, force)).await?;
            let (text, became) = match was {
                None => {
                    changes.missing(&none(id), json!({"id": id, "was": null, "became": null}));
                    continue;
                }
                Some(state) if state.has_ended() => (
                    format!("task {id} has ended: it is {state}"),
                    state.as_str(),
                ),
                Some(State::Running) if !force => (
                    format!("task {id} runs: its worker is asked to stop"),
                    "asked",
                ),
                Some(state) => (
                    format!("task {id} is cancelled; it was {state}"),
                    State::Cancelled.as_str(),
                ),
            };
            changes.done(&text, json!({"id": id, "was": was, "became": became}))?;
        }
        Ok(())
    }
    .await;
    changes.end(ended)
}

pub(super) async fn retry(queue: &Queue, ids: &[TaskId], json: bool) -> Result<ExitCode, Failure> {
    let mut changes = Changes::new(json);
    let ended = async {
        for &id in ids {
            let enqueued = answer(queue, "can't retry", queue.tasks().retry(id)).await?;
            let row = |new: Option<TaskId>, key: Option<TaskId>| json!({"id": id, "enqueued": new, "key_of": key});
            match enqueued {
                Some(Enqueued::New(new)) => {
                    let text = if new == id {
                        format!("task {id} is enqueued once more")
                    } else {
                        format!("task {id} has succeeded; its copy is task {new}")
                    };
                    changes.done(&text, row(Some(new), None))?;
                }
                Some(other) => {
                    let other = other.id();
                    changes.missing = true;
                    let text = format!("task {id} is not enqueued: task {other} has its key");
                    changes.done(&text, row(None, Some(other)))?;
                }
                None => {
                    let why = format!("there is no task {id} that has ended");
                    changes.missing(&Failure::new(Exit::Nothing, why), row(None, None));
                }
            }
        }
        Ok(())
    }
    .await;
    changes.end(ended)
}
