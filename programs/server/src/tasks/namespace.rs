//! Whether a task is of a namespace.

use dlock_http::Code;
use dlock_tasks::{State, Task, TaskId};

use crate::{asking::Asking, names::Namespace, problem::Refusal, store_calls::Class};

/// A task of this namespace, its queue as it is shown.
pub(super) async fn task(
    service: &Asking,
    namespace: &Namespace,
    id: TaskId,
) -> Result<Task, Refusal> {
    let limit = service.0.limits.call_time;
    let task = service
        .ask_tasks(limit, |store| async move { store.task(id).await })
        .await?;
    task.and_then(|task| shown(namespace, task))
        .ok_or_else(|| Code::NotFound.into())
}

/// A task as its namespace sees it, if it is of this one.
pub(super) fn shown(namespace: &Namespace, mut task: Task) -> Option<Task> {
    task.queue = namespace.shown(&task.queue)?.to_owned();
    Some(task)
}

/// The state of each of these tasks, if it is in this namespace. It adds to an answer that is known already, so
/// nothing is added if the store cannot be read.
pub(super) async fn states(
    service: &Asking,
    namespace: &Namespace,
    ids: Vec<TaskId>,
) -> Vec<Option<State>> {
    let nothing = vec![None; ids.len()];
    if ids.is_empty() {
        return nothing;
    }
    let (limit, namespace) = (service.0.limits.call_time, namespace.clone());
    let service = service.lowered(Class::List);
    let looked = service.ask_tasks(limit, |store| async move {
        let mut states = Vec::with_capacity(ids.len());
        for id in ids {
            let task = store.task(id).await?;
            let own = task.filter(|task| namespace.shown(&task.queue).is_some());
            states.push(own.map(|task| task.state));
        }
        Ok(states)
    });
    looked.await.unwrap_or(nothing)
}
