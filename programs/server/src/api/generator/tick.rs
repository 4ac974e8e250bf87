//! A server's work for the generator.

use std::{sync::Arc, time::Duration};

use dlock_core::ProviderError;
use dlock_tasks::{Context, NewTask, Payload, Served, Stop, TaskStore, Worker};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    super::{KIND as TASK, QUEUE as TASKS},
    EVERY, KIND, QUEUE,
};

/// How long another server waits when the one that generates dies.
const LEASE: Duration = Duration::from_secs(10);

/// The longest duration of a task, in seconds.
const LONGEST: u64 = 60;

/// The generator's own task, and for how many seconds it is on if not permanently.
#[derive(Debug, Serialize, Deserialize)]
struct Tick(Option<u64>);

impl Payload for Tick {
    const KIND: &'static str = KIND;
}

/// Adds tasks whenever it is this server's turn, until `stop` resolves: each with `{"sleep_duration_seconds":
/// 1..60}`.
///
/// # Errors
/// A store that stays unusable, however long one waits.
pub async fn generate(
    store: Arc<dyn TaskStore>,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), ProviderError> {
    let worker = Worker::builder()
        .store(Arc::clone(&store))
        .queue(QUEUE)
        .concurrency(1)
        .lease(LEASE)
        .owner("generator")
        .build()
        .map_err(|error| ProviderError::fatal(error.to_string()))?;
    worker
        .handle(move |context, task: Tick| tick(Arc::clone(&store), context, task))
        .run(stop)
        .await
}

/// Adds the task of one turn. The store adds it once: a turn that is repeated because its server died has the same
/// instant, and a server that was paused comes with an instant that lies before its successor's.
async fn tick(store: Arc<dyn TaskStore>, context: Context, Tick(on): Tick) -> Result<(), Stop> {
    let own = store.task(context.id()).await?;
    let own = own.ok_or("the generator was switched off")?;
    let turn = own.run_at;
    let has_run = turn.duration_since(own.enqueued_at).unwrap_or_default();
    if on.is_some_and(|seconds| has_run.as_secs() >= seconds) {
        return Ok(());
    }
    // The token counts microseconds, so this is as good as random.
    let seconds = 1 + context.token().get() % LONGEST;
    let task = NewTask::builder()
        .kind(TASK)
        .queue(TASKS)
        .payload(json!({ "sleep_duration_seconds": seconds }))
        .build();
    if let Served::Enqueued(added) = store.enqueue_periodic(QUEUE, turn, &task).await? {
        tracing::info!(task = %added.id(), seconds, "generated");
    }
    Err(Stop::Snooze(EVERY))
}
