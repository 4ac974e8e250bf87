//! How tasks look: a table for people, JSON for programs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dlock_stores::text::harmless;
use dlock_tasks::{Count, FailedAttempt, LimitedQueue, PausedQueue, State, Task};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    display::{instant, short_name, span},
    exit::{Exit, Failure},
};

/// A task as programs see it.
#[derive(Serialize)]
struct Row<'t> {
    id: i64,
    queue: &'t str,
    kind: &'t str,
    priority: u8,
    state: State,
    run_at: Option<String>,
    enqueued_at: Option<String>,
    ended_at: Option<String>,
    attempt: u32,
    max_attempts: u32,
    key: Option<&'t str>,
    lane: Option<&'t str>,
    payload: &'t Value,
    checkpoint: Option<&'t Value>,
    output: Option<&'t Value>,
    errors: Vec<Error<'t>>,
    holder: Option<Holder<'t>>,
}

#[derive(Serialize)]
struct Error<'t> {
    attempt: u32,
    at: Option<String>,
    error: &'t str,
}

#[derive(Serialize)]
struct Holder<'t> {
    owner: &'t str,
    token: u64,
    remaining_ms: u128,
    asked: bool,
}

impl<'t> Row<'t> {
    fn new(task: &'t Task) -> Self {
        let holder = task.holder.as_ref().map(|holder| Holder {
            owner: &holder.owner,
            token: holder.token.get(),
            remaining_ms: holder.remaining.as_millis(),
            asked: holder.asked,
        });
        Self {
            id: task.id.get(),
            queue: &task.queue,
            kind: &task.kind,
            priority: task.priority,
            state: task.state,
            run_at: instant(task.run_at),
            enqueued_at: instant(task.enqueued_at),
            ended_at: task.ended_at.and_then(instant),
            attempt: task.attempt,
            max_attempts: task.max_attempts,
            key: task.key.as_deref(),
            lane: task.lane.as_deref(),
            payload: &task.payload,
            checkpoint: task.checkpoint.as_ref(),
            output: task.output.as_ref(),
            errors: task.errors.iter().map(Error::new).collect(),
            holder,
        }
    }
}

impl<'t> Error<'t> {
    fn new(failed: &'t FailedAttempt) -> Self {
        Self {
            attempt: failed.attempt,
            at: instant(of_micros(failed.at)),
            error: &failed.error,
        }
    }
}

fn of_micros(micros: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(micros)
}

pub(super) fn to_json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::new(Exit::System, "can't write JSON").because(error))?;
    Ok(text + "\n")
}

pub(super) fn counts(
    counts: &[Count],
    paused: &[PausedQueue],
    limits: &[LimitedQueue],
    as_json: bool,
) -> Result<String, Failure> {
    let limit = |count: &Count| {
        let limited = limits.iter().find(|limited| limited.queue == count.queue);
        limited.map(|limited| limited.limit)
    };
    let since = |count: &Count| {
        let paused = paused.iter().find(|paused| paused.queue == count.queue);
        paused.and_then(|paused| instant(paused.since))
    };
    if as_json {
        let row = |count: &Count| json!({"queue": count.queue, "state": count.state, "tasks": count.tasks, "paused_since": since(count), "limit": limit(count)});
        return to_json(&counts.iter().map(row).collect::<Vec<_>>());
    }
    let row = |count: &Count| {
        let queue = short_name(&count.queue);
        let since = since(count).unwrap_or_else(|| "-".into());
        [
            queue,
            count.state.to_string(),
            count.tasks.to_string(),
            since,
            limit(count).map_or_else(|| "-".into(), |limit| limit.to_string()),
        ]
    };
    let head = ["QUEUE", "STATE", "TASKS", "PAUSED SINCE", "LIMIT"];
    Ok(table(head, counts.iter().map(row)))
}

pub(super) fn paused(paused: &[PausedQueue], as_json: bool) -> Result<String, Failure> {
    if as_json {
        let row =
            |paused: &PausedQueue| json!({"queue": paused.queue, "since": instant(paused.since)});
        return to_json(&paused.iter().map(row).collect::<Vec<_>>());
    }
    let row = |paused: &PausedQueue| {
        let since = instant(paused.since).unwrap_or_else(|| "?".into());
        [short_name(&paused.queue), since]
    };
    Ok(table(["QUEUE", "PAUSED SINCE"], paused.iter().map(row)))
}

pub(super) fn limits(limits: &[LimitedQueue], as_json: bool) -> Result<String, Failure> {
    if as_json {
        let row = |limited: &LimitedQueue| json!({"queue": limited.queue, "limit": limited.limit});
        return to_json(&limits.iter().map(row).collect::<Vec<_>>());
    }
    let row = |limited: &LimitedQueue| [short_name(&limited.queue), limited.limit.to_string()];
    Ok(table(["QUEUE", "LIMIT"], limits.iter().map(row)))
}

pub(super) fn list(tasks: &[Task], json: bool) -> Result<String, Failure> {
    if json {
        return to_json(&tasks.iter().map(Row::new).collect::<Vec<_>>());
    }
    let row = |task: &Task| {
        let holder = task.holder.as_ref();
        let left = holder.filter(|_| task.state == State::Running);
        [
            task.id.to_string(),
            short_name(&task.queue),
            short_name(&task.kind),
            task.state.to_string(),
            format!("{}/{}", task.attempt, task.max_attempts),
            left.map_or_else(|| "-".into(), |holder| span(holder.remaining)),
            instant(task.ended_at.unwrap_or(task.run_at)).unwrap_or_else(|| "?".into()),
            match (holder, task.errors.last()) {
                (Some(holder), _) => harmless(&holder.owner),
                (None, Some(failed)) => harmless(&failed.error),
                (None, None) => String::new(),
            },
        ]
    };
    let head = [
        "ID",
        "QUEUE",
        "KIND",
        "STATE",
        "ATTEMPT",
        "LEFT",
        "DUE OR ENDED",
        "WORKER OR ERROR",
    ];
    Ok(table(head, tasks.iter().map(row)))
}

/// Everything, a line for each thing.
pub(super) fn whole(task: &Task, json: bool) -> Result<String, Failure> {
    if json {
        return to_json(&Row::new(task));
    }
    let mut text = String::new();
    let mut line = |what: &str, value: &str| {
        text += &format!("{what:<11} {value}\n");
    };
    let time = |at| instant(at).unwrap_or_else(|| "?".into());
    line("task", &task.id.to_string());
    line("kind", &harmless(&task.kind));
    line("queue", &harmless(&task.queue));
    line("priority", &task.priority.to_string());
    line("state", task.state.as_str());
    line(
        "attempt",
        &format!("{} of {}", task.attempt, task.max_attempts),
    );
    line("enqueued", &time(task.enqueued_at));
    line("due", &time(task.run_at));
    if let Some(ended) = task.ended_at {
        line("ended", &time(ended));
    }
    if let Some(key) = &task.key {
        line("key", &harmless(key));
    }
    if let Some(lane) = &task.lane {
        line("lane", &harmless(lane));
    }
    if let Some(holder) = &task.holder {
        let asked = if holder.asked { ", asked to stop" } else { "" };
        let left = span(holder.remaining);
        line(
            "worker",
            &format!("{}, {left} left{asked}", harmless(&holder.owner)),
        );
        line("token", &holder.token.to_string());
    }
    line("payload", &harmless_json(&task.payload));
    for (what, value) in [("checkpoint", &task.checkpoint), ("output", &task.output)] {
        if let Some(value) = value {
            line(what, &harmless_json(value));
        }
    }
    for failed in &task.errors {
        let at = time(of_micros(failed.at));
        line(
            "error",
            &format!(
                "attempt {} at {at}: {}",
                failed.attempt,
                harmless(&failed.error)
            ),
        );
    }
    Ok(text)
}

/// Readable JSON: a character that could harm a terminal is escaped the way JSON escapes it.
fn harmless_json(value: &Value) -> String {
    let mut text = String::new();
    for character in value.to_string().chars() {
        if matches!(character, '"' | '\\' | '\'') || character.escape_debug().len() == 1 {
            text.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                text += &format!("\\u{unit:04x}");
            }
        }
    }
    text
}

/// Columns as wide as their contents; the last one is not padded.
fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let head = head.map(str::to_owned);
    let lines: Vec<[String; N]> = [head].into_iter().chain(rows).collect();
    let mut widths = [0; N];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<String> = line
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}
