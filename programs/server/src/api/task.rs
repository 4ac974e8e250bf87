//! A task as the sample shows it.

use dlock_core::FencingToken;
use dlock_http::Time;
use dlock_tasks::Task;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{LEASE, answer::Row, claims::Note};

/// A task. Its instants are also written in camelCase, `last_heartbeat_at` as `lastHeartBeatAt`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = sample::Task)]
pub(super) struct Shown {
    id: i64,
    task_data: Value,
    /// When it may run at the earliest, by the store's clock, like all instants here.
    scheduled_at: Time,
    /// The processor that has it, or had it last.
    processor: Option<String>,
    /// When that claim began.
    started_at: Option<Time>,
    last_heartbeat_at: Option<Time>,
    /// When the lease of the processor ends; absent once it has, and where another interface claimed the task.
    must_heartbeat_before: Option<Time>,
    /// When it ended, with whatever outcome.
    processed_at: Option<Time>,
    task_output: Option<Value>,
    /// `scheduled`, `ready`, `running`, `stalled`, `succeeded`, `dead` or `cancelled`.
    state: String,
    /// The token of the claim: send it with heartbeats and the completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, minimum = 1, maximum = 9007199254740991_u64)]
    claim: Option<FencingToken>,
}

/// A task as the store has it.
pub(super) fn shown(task: Task) -> Row<Shown> {
    let note = Note::of(&task);
    // Claims made through another interface have no note, or one of an earlier claim.
    let held = task.holder.as_ref();
    let note = note.filter(|note| held.is_none_or(|held| held.token == note.token));
    let has_it = held.is_some_and(|held| !held.remaining.is_zero());
    let beat = note.as_ref().map(|note| note.last_heartbeat_at);
    let end = beat.filter(|_| has_it);
    let end = end.and_then(|Time(beat)| beat.checked_add(LEASE));
    let processor = held.map(|held| held.owner.clone());
    Row(Shown {
        id: task.id.get(),
        scheduled_at: Time(task.run_at),
        processor: processor.or_else(|| note.as_ref().map(|note| note.processor.clone())),
        started_at: note.map(|note| note.started_at),
        last_heartbeat_at: beat,
        must_heartbeat_before: end.map(Time),
        processed_at: task.ended_at.map(Time),
        task_output: task.output,
        task_data: task.payload,
        state: task.state.to_string(),
        claim: None,
    })
}

/// The same for the processor that has it.
pub(super) fn claimed(task: Task, claim: FencingToken) -> Row<Shown> {
    let Row(mut shown) = shown(task);
    shown.claim = Some(claim);
    Row(shown)
}
