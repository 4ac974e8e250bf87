//! Hints that leases may be free, as server-sent events.

use std::convert::Infallible;

use axum::response::sse::{Event, Sse};
use dlock_core::provider::Wakeup;
use dlock_http::{Problem, leases::Hint};
use futures_util::Stream;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    Service, events,
    guard::{Allowed, ToLook},
    names::InNamespace,
    problem::Refusal,
};

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new().routes(routes!(watch))
}

/// Hints that names may be free: events `free` with a name, and `everyone`. They are never truth. A release after
/// the status line, of a term that was marked by a waiter, is hinted, or the stream ends.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/leases/watch",
    tag = "leases",
    responses(
        (status = 200, description = "Events `free` and `everyone`.", body = Hint, content_type = "text/event-stream"),
        (status = 404, description = "`not-found`: the store has no hints.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn watch(
    Allowed {
        service,
        namespace,
        ended,
        ..
    }: Allowed<ToLook>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let hints = service.clone();
    let open = async move { hints.0.hints.listen().await };
    events::of(service, ended, open, move |hint, _| match hint {
        Wakeup::Everyone => Some(Event::default().event("everyone").data("{}")),
        Wakeup::Name(name) => {
            let name = namespace.shown(name.as_str())?.to_owned();
            // JSON has no line breaks, which events could not carry.
            let data = serde_json::to_string(&Hint { name }).unwrap_or_default();
            Some(Event::default().event("free").data(data))
        }
    })
    .await
}
