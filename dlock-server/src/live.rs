//! A view as server-sent events.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    http::header::{CACHE_CONTROL, HeaderName},
    response::{
        IntoResponse,
        sse::{Event, KeepAlive, Sse},
    },
};
use dlock_http::Code;
use futures_util::stream;

use crate::{
    Rights, Service,
    problem::Refusal,
    views::{Place, Seen, View},
};

/// How often a stream shows that it is alive while its view is not looked at. The page takes one that says nothing for
/// twice as long for dead.
const ALIVE: Duration = Duration::from_secs(10);

/// Nobody keeps what is streamed, and a proxy passes it on as it comes.
const HEADERS: [(HeaderName, &str); 2] = [
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("x-accel-buffering"), "no"),
];

/// Somebody who was allowed to watch.
pub(crate) struct Entered {
    place: Place,
    /// By which they were. The stream ends when others take their place.
    rights: Option<Arc<Rights>>,
}

/// A place for a stream.
pub(crate) fn enter(service: &Service) -> Result<Entered, Refusal> {
    if service.0.stopping.is_cancelled() {
        return Err(Code::Stopping.into());
    }
    Ok(Entered {
        place: service.0.views.enter()?,
        rights: service.rights(),
    })
}

/// What is found in a view, look by look, until the server stops or its rights are read again. Events `page` say what it
/// is, `same` that it is as before, `problem` why nobody can tell.
pub(crate) fn of<Look, Found>(
    service: Service,
    Entered { place, rights }: Entered,
    view: View,
    look: Look,
) -> Result<impl IntoResponse, Refusal>
where
    Look: Fn() -> Found + Send + Sync + 'static,
    Found: Future<Output = Result<String, Refusal>> + Send,
{
    let watcher = service.0.views.watch(view, look)?;
    let watched = (service, watcher, 0, rights, place);
    let events = stream::unfold(
        watched,
        |(service, mut watcher, shown, rights, place)| async move {
            let stopping = service.0.stopping.clone();
            tokio::select! {
                biased;
                () = stopping.cancelled() => return None,
                looked = watcher.changed() => looked.ok()?,
            }
            // The browser opens another stream, and is asked again who it is.
            if rights.as_ref().map(Arc::as_ptr) != service.rights().as_ref().map(Arc::as_ptr) {
                return None;
            }
            let seen = watcher.borrow_and_update().clone();
            // There was a change, so something was seen.
            let seen = seen?;
            let event = event(&seen, shown);
            let event: Result<_, Infallible> = Ok(event);
            Some((event, (service, watcher, seen.version, rights, place)))
        },
    );
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
