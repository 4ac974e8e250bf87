//! `--demo`: the generator is on, and two workers process what it adds.

use std::{sync::Arc, time::Duration};

use dlock_core::ProviderError;
use dlock_tasks::{Context, Payload, Stop, TaskStore, Worker};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::api;

/// The names of the workers.
pub(super) const WORKERS: [&str; 2] = ["demo-worker-1", "demo-worker-2"];

/// The lease of a task: how long it is unavailable if this server is killed.
const LEASE: Duration = Duration::from_secs(15);

/// How often a worker reports its progress.
const STEP: Duration = Duration::from_secs(5);

/// A task as the generator makes it.
#[derive(Debug, Serialize, Deserialize)]
struct Sleep {
    #[serde(default)]
    sleep_duration_seconds: u64,
}

impl Payload for Sleep {
    const KIND: &'static str = api::KIND;
}

/// Runs one task after the other until `stop`.
pub(super) async fn work(
    name: &'static str,
    tasks: Arc<dyn TaskStore>,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), ProviderError> {
    let worker = Worker::builder()
        .store(tasks)
        .queue(api::QUEUE)
        .concurrency(1)
        .lease(LEASE)
        .grace(Duration::ZERO)
        .owner(name)
        .build()
        .map_err(|error| ProviderError::fatal(error.to_string()))?;
    worker
        .handle(move |context, task: Sleep| run(name, context, task))
        .run(stop)
        .await
}

async fn run(name: &str, context: Context, task: Sleep) -> Result<Value, Stop> {
    let (id, attempt, token) = (context.id(), context.attempt(), context.token());
    let whole = Duration::from_secs(task.sleep_duration_seconds);
    tracing::info!(worker = name, task = %id, attempt, %token, seconds = whole.as_secs(), "begins");
    let mut done = Duration::ZERO;
    while done < whole {
        let step = STEP.min(whole - done);
        sleep(step).await;
        done += step;
        tracing::info!(worker = name, task = %id, done = done.as_secs(), seconds = whole.as_secs(), "works");
    }
    tracing::info!(worker = name, task = %id, "completes");
    Ok(json!({ "slept_seconds": whole.as_secs() }))
}
