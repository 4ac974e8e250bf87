//! The numbers of leases.
//!
//! A number is that of a task which never runs: its queue is no worker's, its time comes in some thousand years, and the
//! resource is its key. So the store gives each resource one number, whichever server asks first, and none for a
//! request that is refused: who is refused a lease asks for a resource that somebody has had, and that has one already.

use std::time::{Duration, SystemTime};

use dlock_core::Name;
use dlock_http::Code;
use dlock_tasks::{NewTask, TaskId, When};
use sha2::{Digest, Sha256};

use crate::{asking::Asking, problem::Refusal};

/// No worker has this queue.
const QUEUE: &str = "~api/leases";

/// How far away the time is at which such a task would be due: a thousand years.
const NEVER: Duration = Duration::from_secs(1_000 * 365 * 86_400);

/// The numbers of these names, in their order. A name that has none gets one.
pub(super) async fn of(service: &Asking, names: &[Name]) -> Result<Vec<i64>, Refusal> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<_> = names.iter().map(row).collect();
    let limit = service.0.limits.call_time;
    let numbered = service
        .ask_tasks(limit, |store| async move { store.enqueue(&rows).await })
        .await?;
    if numbered.len() != names.len() {
        return Err(Code::Unknown.into());
    }
    Ok(numbered.iter().map(|row| row.id().get()).collect())
}

/// The number of this name.
pub(super) async fn of_one(service: &Asking, name: &Name) -> Result<i64, Refusal> {
    let numbers = of(service, std::slice::from_ref(name)).await?;
    numbers.first().copied().ok_or_else(|| Code::Unknown.into())
}

/// The name that has this number.
pub(super) async fn name(service: &Asking, number: TaskId) -> Result<Option<Name>, Refusal> {
    let limit = service.0.limits.call_time;
    let row = service
        .ask_tasks(limit, |store| async move { store.task(number).await })
        .await?;
    let row = row.filter(|row| row.queue == QUEUE);
    Ok(row.and_then(|row| Name::new(row.payload.as_str()?).ok()))
}

fn row(name: &Name) -> NewTask {
    // A key has room for a part of the names only.
    let key: String = Sha256::digest(name.as_str())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    NewTask::builder()
        .kind("lease")
        .queue(QUEUE)
        .key(key)
        .payload(name.as_str().into())
        .when(When::At(SystemTime::UNIX_EPOCH + NEVER))
        .build()
}
