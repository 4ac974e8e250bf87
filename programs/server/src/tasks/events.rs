//! Hints that a claim may find something, as server-sent events.

use std::{convert::Infallible, time::Duration};

use axum::response::sse::{Event, Sse};
use dlock_http::{Code, Problem, tasks::Hint};
use dlock_tasks::Claim;
use futures_util::Stream;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use crate::{
    Service,
    body::Asked,
    guard::{Allowed, ToHear},
    names::{InNamespace, Namespace},
    problem::{Refusal, not_possible},
};

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new().routes(routes!(events))
}

/// Hints that claims of these queues and kinds may find something: events `tasks`. They are never truth. A task
/// that comes after the status line is hinted, or the stream ends.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/tasks/events",
    tag = "tasks",
    responses(
        (status = 200, description = "Events `tasks`.", body = Hint, content_type = "text/event-stream"),
        (status = 404, description = "`not-found`: the store has no hints.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(
        InNamespace,
        ("queue" = Vec<String>, Query, description = "A queue; may be given more than once"),
        ("kind" = Option<Vec<String>>, Query, description = "A kind; may be given more than once. All, if none is"),
    ),
)]
async fn events(
    Allowed {
        service,
        namespace,
        ended,
        ..
    }: Allowed<ToHear>,
    Asked(query): Asked<Vec<(String, String)>>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let claim = wanted(&namespace, query)?;
    service.tasks()?;
    let hints = service.clone();
    let open = async move {
        let Ok(tasks) = hints.tasks() else {
            return Ok(None);
        };
        tasks.hints.listen(&claim).await
    };
    crate::events::of(service, ended, open, |_, listener| {
        // Tasks that have come meanwhile are covered by this hint, too.
        listener.skip();
        Some(Event::default().event("tasks").data("{}"))
    })
    .await
}

/// A claim for what the query names. It is not sent.
fn wanted(namespace: &Namespace, query: Vec<(String, String)>) -> Result<Claim, Refusal> {
    let (mut queues, mut kinds) = (Vec::new(), Vec::new());
    for (field, value) in query {
        match &*field {
            "queue" => queues.push(namespace.stored_label(&value, "/queue")?),
            "kind" => kinds.push(value),
            _ => {
                let detail = format!("unknown field `{field}`, expected `queue` or `kind`");
                return Err(Refusal::new(Code::BadRequest, detail));
            }
        }
    }
    let mut claim = Claim::new("", Uuid::nil(), Duration::from_secs(1)).queues(queues);
    if !kinds.is_empty() {
        claim = claim.kinds(kinds);
    }
    claim.check().map_err(|error| not_possible(&error))?;
    Ok(claim)
}
