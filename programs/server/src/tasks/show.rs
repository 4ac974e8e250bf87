//! Tasks, pages of them, and how many there are.

use axum::Json;
use dlock_http::{
    Problem,
    tasks::{Count, Counts, Page, Task},
};
use dlock_tasks::{self as tasks, Filter, TaskId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{namespace, request::Answer};
use crate::{
    Service,
    asking::Asking,
    body::Asked,
    guard::{Allowed, ToRead},
    memory::PageSize,
    names::{InNamespace, Namespace},
    number::Number,
    problem::Refusal,
    search::Search,
};

/// The most tasks of a page.
const MOST: usize = 100;

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(counts))
        .routes(routes!(one))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Of this queue only.
    queue: Option<String>,
    /// In this state only.
    #[param(value_type = Option<String>)]
    state: Option<tasks::State>,
    /// Of this kind only.
    kind: Option<String>,
    /// `true`: the largest numbers first.
    #[serde(default)]
    newest_first: bool,
    /// Only those after this one: `next` of the previous page.
    #[param(value_type = Option<i64>)]
    after: Option<TaskId>,
    /// At most this many, and never more than 100.
    limit: Option<usize>,
}

/// A page of tasks, by number, which ends after a megabyte. Without a queue the server looks through those of other
/// namespaces, too. So a page may be short although there are more, and it is empty if two seconds were not enough to
/// find one: then there is a `next`.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/tasks",
    tag = "tasks",
    params(Which, InNamespace),
    responses(
        (status = 200, description = "The page.", body = Page),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn list(
    Allowed {
        service, namespace, ..
    }: Allowed<ToRead>,
    Asked(which): Asked<Which>,
) -> Answer<Page> {
    let queue = which.queue.as_deref();
    let queue = queue.map(|queue| namespace.stored_label(queue, "/queue"));
    let filter = Filter::default()
        .queue(queue.transpose()?)
        .state(which.state)
        .kind(which.kind)
        .newest_first(which.newest_first);
    let most = which.limit.unwrap_or(MOST).clamp(1, MOST);
    page(&service, &namespace, filter, which.after, most)
        .await
        .map(Json)
}

pub(super) async fn page(
    service: &Asking,
    namespace: &Namespace,
    filter: Filter,
    mut after: Option<TaskId>,
    most: usize,
) -> Result<Page, Refusal> {
    let (mut page, mut size) = (Page::default(), PageSize::default());
    // Of one queue, every task that is read is shown.
    let wanted = if filter.queue.is_some() {
        most
    } else {
        usize::MAX
    };
    let _place = service.page().await?;
    let mut search = Search::new();
    while search.continues(!page.tasks.is_empty()) {
        let part = size.next_part(wanted);
        let filter = filter.clone().after(after).limit(part);
        let limit = service.0.limits.call_time;
        let listed = service
            .ask_tasks(limit, |store| async move { store.list(&filter).await })
            .await?;
        let is_last = listed.len() < part;
        for task in listed {
            after = Some(task.id);
            let mut is_full = false;
            if let Some(task) = namespace::shown(namespace, task) {
                let task = task.into();
                is_full = size.is_full_with(&task);
                page.tasks.push(task);
            }
            if is_full || page.tasks.len() == most {
                page.next = after;
                return Ok(page);
            }
        }
        if is_last {
            return Ok(page);
        }
    }
    page.next = after;
    Ok(page)
}

/// How many tasks of each queue are in each state.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/tasks/counts",
    tag = "tasks",
    responses(
        (status = 200, description = "The counts that are not 0.", body = Counts),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn counts(
    Allowed {
        service, namespace, ..
    }: Allowed<ToRead>,
) -> Answer<Counts> {
    let counts = counted(&service).await?;
    let counts = own(&namespace, counts);
    Ok(Json(Counts { counts }))
}

/// How many tasks of each queue are in each state. The queues are those of all namespaces, under their names in the
/// store.
pub(super) async fn counted(service: &Asking) -> Result<Vec<Count>, Refusal> {
    let limit = service.0.limits.call_time;
    let counts = service
        .ask_tasks(limit, |store| async move { store.counts().await })
        .await?;
    let counts = counts.into_iter().map(|count| Count {
        queue: count.queue,
        state: count.state,
        tasks: count.tasks,
    });
    Ok(counts.collect())
}

/// The counts of one namespace.
pub(super) fn own(namespace: &Namespace, counts: Vec<Count>) -> Vec<Count> {
    let own = counts.into_iter().filter_map(|count| {
        let queue = namespace.shown(&count.queue)?.to_owned();
        Some(Count { queue, ..count })
    });
    own.collect()
}

/// One task as the store has it now.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/tasks/{id}",
    tag = "tasks",
    responses(
        (status = 200, description = "The task.", body = Task),
        (status = 404, description = "`not-found`: the namespace has no task of this number.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(
        InNamespace,
        ("id" = i64, Path, description = "The number of the task"),
    ),
)]
async fn one(
    Allowed {
        service, namespace, ..
    }: Allowed<ToRead>,
    Number(id): Number,
) -> Answer<Task> {
    let task = namespace::task(&service, &namespace, id).await?;
    Ok(Json(task.into()))
}
