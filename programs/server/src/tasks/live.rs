//! How many tasks there are, and a page of them, as they change.

use axum::response::IntoResponse;
use dlock_http::{
    Code, Problem,
    tasks::{Counts, Overview, Page, Queues},
};
use dlock_tasks::{self as tasks, Filter, TaskId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{queues, show};
use crate::{
    Service,
    asking::Asking,
    body::Asked,
    guard::{Allowed, ToRead},
    live,
    live_queries::{View, Watcher},
    names::{InNamespace, Namespace},
    problem::Refusal,
};

/// The tasks of a page.
const MOST: usize = 50;

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new().routes(routes!(watch))
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
    /// Only numbers after this one: `next` of the previous page.
    #[param(value_type = Option<i64>)]
    after: Option<TaskId>,
}

/// Tasks as server-sent events: once a second, or less often where a read takes long, an event `page` with the counts
/// of all queues and a page of tasks, `same` if nothing has changed, or `problem`. All watchers of the same page share
/// one read of the store. The counts are renewed every five seconds at most.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/tasks/live",
    tag = "tasks",
    responses(
        (status = 200, description = "Events `page`, `same` and `problem`.", body = Overview, content_type = "text/event-stream"),
        (status = 404, description = "`not-found`: the server has no tasks.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(Which, InNamespace),
)]
async fn watch(
    Allowed {
        service,
        namespace,
        ended,
        ..
    }: Allowed<ToRead>,
    Asked(Which {
        queue,
        state,
        after,
    }): Asked<Which>,
) -> Result<impl IntoResponse, Refusal> {
    service.tasks()?;
    let stored = queue.map(|queue| namespace.stored_label(&queue, "/queue"));
    let queue = stored.transpose()?;
    let filter = Filter::default().queue(queue.clone()).state(state);
    let view = View::Tasks {
        namespace: namespace.clone(),
        queue,
        state,
        after,
    };
    let entered = live::enter(&service, ended)?;
    let mut counts = counted(&service)?;
    // Reading the page does not wait for a count, which may take longer than all else: there is a first count, and
    // later ones are shown when they have come.
    let first = counts.wait_for(Option::is_some).await;
    first.map_err(|_| Code::Unknown)?;
    let asked = service.clone().on_behalf_of(None);
    live::of(&service, entered, view, move || {
        let (service, namespace, filter) = (asked.clone(), namespace.clone(), filter.clone());
        let counts = counts.clone();
        async move {
            let overview = look(&service, &namespace, counts, filter, after).await?;
            serde_json::to_string(&overview).map_err(|_| Code::Fatal.into())
        }
    })
}

/// The tasks are counted in one place for all pages of all namespaces: most stores read all tasks for it.
fn counted(service: &Asking) -> Result<Watcher, Refusal> {
    let asked = service.clone().on_behalf_of(None);
    service.0.views.watch(View::Counts, (), move || {
        let service = asked.clone();
        async move {
            let counts = show::counted(&service).await?;
            serde_json::to_string(&Counts { counts }).map_err(|_| Code::Fatal.into())
        }
    })
}

async fn look(
    service: &Asking,
    namespace: &Namespace,
    counts: Watcher,
    filter: Filter,
    after: Option<TaskId>,
) -> Result<Overview, Refusal> {
    let Queues { paused, limits } = queues::set_apart(service, namespace).await?;
    let Page { tasks, next } = show::page(service, namespace, filter, after, MOST).await?;
    let counts = counts.borrow().as_ref().map(|seen| seen.found.clone());
    let counts = counts.unwrap_or_else(|| Err(Code::Unknown.into()))?;
    let Counts { counts } = serde_json::from_str(&counts).map_err(|_| Code::Fatal)?;
    Ok(Overview {
        counts: show::own(namespace, counts),
        paused,
        limits,
        tasks: tasks.into_iter().map(Into::into).collect(),
        next,
    })
}
