//! A view as server-sent events.

use std::{convert::Infallible, time::Duration};

use axum::{
    http::header::{CACHE_CONTROL, HeaderName},
    response::{
        IntoResponse,
        sse::{Event, KeepAlive, Sse},
    },
};
use dlock_http::Code;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

use crate::{
    Service,
    asking::Asking,
    live_queries::{Place, Seen, View},
    problem::Refusal,
    share::Part,
};

/// How often a stream shows that it is alive while its view is not refreshed. The page treats a stream that is silent
/// for twice as long as dead.
const ALIVE: Duration = Duration::from_secs(10);

/// Caches do not store the stream, and a proxy passes it on without buffering.
const HEADERS: [(HeaderName, &str); 2] = [
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("x-accel-buffering"), "no"),
];

/// A sender that was allowed to watch.
pub(crate) struct Entered {
    place: (Place, Option<Part>),
    view: Option<Part>,
    ended: CancellationToken,
}

/// A place for a stream.
pub(crate) fn enter(service: &Asking, ended: CancellationToken) -> Result<Entered, Refusal> {
    if service.0.stopping.is_cancelled() {
        return Err(Code::Stopping.into());
    }
    Ok(Entered {
        place: service.stream()?,
        view: service.view()?,
        ended,
    })
}

/// The results of a view, read by read, until the server stops or its rights are read again: a browser then opens
/// another stream, and is identified again. Events: `page` has the result, `same` says that it is unchanged, `problem`
/// why it is unknown.
pub(crate) fn of<Look, Found>(
    service: &Service,
    Entered {
        place,
        view: part,
        ended,
    }: Entered,
    view: View,
    look: Look,
) -> Result<impl IntoResponse + use<Look, Found>, Refusal>
where
    Look: Fn() -> Found + Send + Sync + 'static,
    Found: Future<Output = Result<String, Refusal>> + Send,
{
    let watcher = service.0.views.watch(view, part, look)?;
    let watched = (watcher, 0, ended, place);
    let events = stream::unfold(watched, |(mut watcher, shown, ended, place)| async move {
        tokio::select! {
            biased;
            () = ended.cancelled() => return None,
            looked = watcher.changed() => looked.ok()?,
        }
        let seen = watcher.borrow_and_update().clone();
        // There was a change, so a value was seen.
        let seen = seen?;
        let event = event(&seen, shown);
        let event: Result<_, Infallible> = Ok(event);
        Some((event, (watcher, seen.version, ended, place)))
    });
    let alive = KeepAlive::new().interval(ALIVE);
    Ok((HEADERS, Sse::new(events).keep_alive(alive)))
}

fn event(seen: &Seen, shown: u64) -> Event {
    match &seen.found {
        // JSON has no line breaks, which events could not carry.
        Ok(found) if seen.version > shown => Event::default().event("page").data(found),
        Ok(_) => Event::default().event("same").data("{}"),
        Err(Refusal(problem)) => {
            let problem = serde_json::to_string(problem).unwrap_or_default();
            Event::default().event("problem").data(problem)
        }
    }
}
