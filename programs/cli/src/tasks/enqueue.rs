//! `dlock tasks enqueue`.

use std::{io::Read, slice};

use dlock_core::ErrorKind;
use dlock_stores::Queue;
use dlock_tasks::{Enqueued, KeyUntil, NewTask, When};
use serde_json::{Value, json};

use super::{rows, within_bounds};
use crate::{
    arguments::EnqueueArguments,
    exit::{Exit, Failure},
    output,
};

pub(super) async fn enqueue(
    queue: &Queue,
    arguments: &EnqueueArguments,
    json: bool,
) -> Result<(), Failure> {
    let task = task(arguments)?;
    // A task that can't be stored at all does not concern the store.
    if let Err(error) = task.check() {
        return Err(Failure::new(Exit::Usage, "can't add the task").because(error));
    }
    let added = match within_bounds(queue.tasks().enqueue(slice::from_ref(&task))).await {
        Ok(added) => added,
        Err(error) => {
            let doing = match error.kind() {
                ErrorKind::Unknown => "can't tell whether the task was added",
                _ => "can't add the task",
            };
            return Err(queue.failure(doing, error).await.into());
        }
    };
    let Some(&added) = added.first() else {
        return Err(Failure::new(
            Exit::StoreUnusable,
            "the store did not report the result",
        ));
    };
    let (id, is_new) = (added.id(), matches!(added, Enqueued::New(_)));
    if json {
        output::write(&rows::to_json(&json!({"id": id, "new": is_new}))?)?;
    } else if is_new {
        output::line(format_args!("task {id} is enqueued"))?;
    } else {
        output::line(format_args!("nothing is enqueued: task {id} has this key"))?;
    }
    Ok(())
}

fn task(arguments: &EnqueueArguments) -> Result<NewTask, Failure> {
    let EnqueueArguments {
        kind,
        payload,
        queue,
        key,
        key_until,
        lane,
        priority,
        delay,
        at,
        max_attempts,
    } = arguments;
    let when = match (delay, at) {
        (Some(delay), _) => When::In(*delay),
        (None, Some(at)) => When::At(*at),
        (None, None) => When::Now,
    };
    let key_until = match key_until.as_str() {
        "started" => KeyUntil::Started,
        _ => KeyUntil::Ended,
    };
    Ok(NewTask::builder()
        .kind(kind)
        .payload(read(payload.as_deref())?)
        .queue(queue)
        .key_opt(key.clone())
        .key_until(key_until)
        .lane_opt(lane.clone())
        .priority(*priority)
        .when(when)
        .max_attempts(*max_attempts)
        .build())
}

fn read(payload: Option<&str>) -> Result<Value, Failure> {
    let mut input = String::new();
    let text = match payload {
        None => return Ok(Value::Null),
        Some("-") => {
            std::io::stdin()
                .read_to_string(&mut input)
                .map_err(|error| {
                    Failure::new(Exit::Usage, "can't read the payload from standard input")
                        .because(error)
                })?;
            &input
        }
        Some(text) => text,
    };
    dlock_tasks::json::read(text).map_err(|error| {
        Failure::new(
            Exit::Usage,
            "the payload is not JSON that a worker can read",
        )
        .because(error)
        .advise("text is JSON in its own double quotes: '\"text\"'")
    })
}
