//! The numbers of leases.
//!
//! A number is that of a task which never runs: its queue belongs to no worker, it is due in some thousand years, and
//! the resource is its key. So the store gives each resource one number, whichever server asks first, and none for a
//! request that is refused. A lease stores its number in its data, so that reading the lease does not look the number
//! up. A number goes with the lease: where the store has purged the lease, the task is cancelled, and is forgotten like
//! other tasks.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use dlock_core::{Name, provider::Admin};
use dlock_http::Code;
use dlock_tasks::{Filter, NewTask, Task, TaskId, When};
use sha2::{Digest, Sha256};

use crate::{asking::Asking, problem::Refusal};

/// No worker has this queue.
const QUEUE: &str = "~api/leases";

/// How far in the future such a task would be due: a thousand years.
const NEVER: Duration = Duration::from_secs(1_000 * 365 * 86_400);

/// How many numbers are checked at a time.
const PAGE: usize = 100;

/// The number of this name, which it may have stored. A name without one gets one.
pub(super) async fn of(service: &Asking, name: &Name, kept: Option<i64>) -> Result<i64, Refusal> {
    // Data like ours may belong to another client of the namespace.
    if let Some(id) = kept.and_then(TaskId::new)
        && self::name(service, id).await?.as_ref() == Some(name)
    {
        return Ok(id.get());
    }
    let (limit, row) = (service.0.limits.call_time, row(name));
    let numbered = service
        .ask_tasks(limit, |store| async move { store.enqueue(&[row]).await })
        .await?;
    let number = numbered.first().map(|row| row.id().get());
    number.ok_or_else(|| Code::Unknown.into())
}

/// Takes away the numbers of leases that the store has forgotten (T5), among the next hundred after this one. Returns
/// where to continue.
pub(crate) async fn forget_some(
    service: &Asking,
    after: Option<TaskId>,
) -> Result<Option<TaskId>, Refusal> {
    let limit = service.0.limits.call_time;
    let filter = Filter::default()
        .queue(Some(QUEUE.to_owned()))
        .after(after)
        .limit(PAGE);
    let page = service
        .ask_tasks(limit, |store| async move { store.list(&filter).await })
        .await?;
    for number in page.iter().filter(|number| !number.state.has_ended()) {
        let (id, name) = (number.id, named(number));
        let record = match name {
            Some(name) => {
                let read = |store: Arc<dyn Admin>| async move { store.read(&name).await };
                service.ask(limit, read).await?
            }
            None => None,
        };
        if record.is_none() {
            service
                .ask_tasks(limit, |store| async move { store.cancel(id, false).await })
                .await?;
        }
    }
    Ok(page.get(PAGE - 1).map(|last| last.id))
}

/// The name with this number.
pub(super) async fn name(service: &Asking, number: TaskId) -> Result<Option<Name>, Refusal> {
    let limit = service.0.limits.call_time;
    let row = service
        .ask_tasks(limit, |store| async move { store.task(number).await })
        .await?;
    Ok(row
        .filter(|row| row.queue == QUEUE)
        .as_ref()
        .and_then(named))
}

fn named(row: &Task) -> Option<Name> {
    Name::new(row.payload.as_str()?).ok()
}

fn row(name: &Name) -> NewTask {
    // A key has room for only some of the names.
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

#[cfg(test)]
mod tests {
    use dlock_core::{Provider, provider::Acquire};
    use dlock_tasks::TaskStore;
    use dlock_testkit::{
        memory::{MemoryProvider, MemoryStore},
        tasks::memory::MemoryTasks,
    };
    use uuid::Uuid;

    use super::*;
    use crate::{Limits, Service, store_calls::Class};

    #[tokio::test]
    async fn number_goes_with_its_lease() {
        let locks = MemoryProvider::new(&MemoryStore::store_clock());
        let tasks = MemoryTasks::new();
        let service = Service::new(Arc::new(locks.clone()), Limits::default());
        let service = Asking::new(service.with_tasks(Arc::new(tasks.clone())), Class::List);
        let mut numbers = Vec::new();
        for place in 0..=PAGE {
            let name = Name::new(format!("default/{place}")).unwrap();
            numbers.push(of(&service, &name, None).await.unwrap());
            if place % 2 == 0 {
                let acquire = Acquire::new(name, Uuid::new_v4(), Duration::from_secs(1));
                locks.acquire(&acquire).await.unwrap();
            }
        }
        let next = forget_some(&service, None).await.unwrap();
        assert_eq!(next.map(TaskId::get), Some(numbers[PAGE - 1]));
        assert_eq!(forget_some(&service, next).await.unwrap(), None);
        for (place, number) in numbers.into_iter().enumerate() {
            let id = TaskId::new(number).unwrap();
            let task = tasks.task(id).await.unwrap().unwrap();
            assert_eq!(task.state.has_ended(), place % 2 == 1, "{place}");
        }
    }
}
