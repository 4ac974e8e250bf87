//! Hints that leases may be free, as server-sent events.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use dlock_core::provider::Wakeup;
use dlock_http::{Code, Problem, leases::Hint};
use futures_util::{Stream, stream};
use tokio::time::timeout;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    Service,
    guard::{Allowed, ToLook},
    problem::{Refusal, of_store},
};

/// How often a stream shows that it is alive. A client that hears nothing for three times as long opens another.
const ALIVE: Duration = Duration::from_secs(10);

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new().routes(routes!(watch))
}

/// Hints that names may be free: events `free` with a name, and `everyone`. They are never truth. What is released
/// from the status line on is hinted, or the stream ends.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/leases/watch",
    tag = "leases",
    responses(
        (status = 200, description = "Events `free` and `everyone`.", body = Hint, content_type = "text/event-stream"),
        (status = 404, description = "`not-found`: the store has no hints.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(("namespace" = String, Path, description = "1 to 63 of a-z, 0-9 and -")),
)]
async fn watch(
    State(service): State<Service>,
    Allowed { namespace, .. }: Allowed<ToLook>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    if service.0.stopping.is_cancelled() {
        return Err(Code::Stopping.into());
    }
    let place = service.0.waits.enter()?;
    let opened = timeout(service.0.limits.call_time, service.0.hints.listen()).await;
    let listener = match opened {
        Ok(Ok(Some(listener))) => listener,
        Ok(Ok(None)) => return Err(Refusal::new(Code::NotFound, "this store has no hints")),
        Ok(Err(error)) => return Err(of_store(&error).into()),
        Err(_elapsed) => return Err(Code::NotApplied.into()),
    };
    let events = stream::unfold((listener, place), move |(mut listener, place)| {
        let (service, namespace) = (service.clone(), namespace.clone());
        async move {
            loop {
                let wakeup = tokio::select! {
                    biased;
                    () = service.0.stopping.cancelled() => return None,
                    wakeup = listener.next() => wakeup?,
                };
                let event = match wakeup {
                    Wakeup::Everyone => Event::default().event("everyone").data("{}"),
                    Wakeup::Name(name) => {
                        let Some(name) = namespace.shown(name.as_str()) else {
                            continue;
                        };
                        let hint = Hint {
                            name: name.to_owned(),
                        };
                        // JSON has no line breaks, which events could not carry.
                        let data = serde_json::to_string(&hint).unwrap_or_default();
                        Event::default().event("free").data(data)
                    }
                };
                return Some((Ok(event), (listener, place)));
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)))
}
