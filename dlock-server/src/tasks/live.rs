//! How many tasks there are, and a page of them, as they change.

use std::convert::Infallible;

use axum::{
    extract::State,
    response::sse::{Event, Sse},
};
use dlock_http::{
    Code, Problem,
    tasks::{Overview, Page, Queues},
};
use dlock_tasks::{self as tasks, Filter, TaskId};
use futures_util::Stream;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{queues, show};
use crate::{
    Service,
    body::Asked,
    guard::{Allowed, ToRead},
    live,
    names::{InNamespace, Namespace},
    problem::Refusal,
    views::View,
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
    /// Only numbers after this one: `next` of the page before.
    #[param(value_type = Option<i64>)]
    after: Option<TaskId>,
}

/// Tasks as server-sent events: once a second an event `page` with the counts of all queues and a page of tasks, `same` if
/// nothing has changed, or `problem`. All who watch the same page share one look at the store.
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
    State(service): State<Service>,
    Allowed { namespace, .. }: Allowed<ToRead>,
    Asked(Which {
        queue,
        state,
        after,
    }): Asked<Which>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
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
    let asked = service.clone();
    live::of(service, view, move || {
        let (service, namespace, filter) = (asked.clone(), namespace.clone(), filter.clone());
        async move {
            let overview = look(&service, &namespace, filter, after).await?;
            serde_json::to_string(&overview).map_err(|_| Code::Fatal.into())
        }
    })
}

async fn look(
    service: &Service,
    namespace: &Namespace,
    filter: Filter,
    after: Option<TaskId>,
) -> Result<Overview, Refusal> {
    let Queues { paused, limits } = queues::set_apart(service, namespace).await?;
    let counts = show::counted(service, namespace).await?;
    let Page { tasks, next } = show::page(service, namespace, filter, after, MOST).await?;
    Ok(Overview {
        counts,
        paused,
        limits,
        tasks: tasks.into_iter().map(Into::into).collect(),
        next,
    })
}
