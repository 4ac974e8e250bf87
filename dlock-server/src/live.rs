//! A view as server-sent events.

use std::{convert::Infallible, sync::Arc};

use axum::response::sse::{Event, Sse};
use dlock_http::Code;
use futures_util::{Stream, stream};

use crate::{
    Service,
    problem::Refusal,
    views::{Seen, View},
};

/// What is found in a view, look by look, until the server stops or its rights are read again. Events `page` say what it
/// is, `same` that it is as before, `problem` why nobody can tell.
pub(crate) fn of<Look, Found>(
    service: Service,
    view: View,
    look: Look,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal>
where
    Look: Fn() -> Found + Send + Sync + 'static,
    Found: Future<Output = Result<String, Refusal>> + Send,
{
    if service.0.stopping.is_cancelled() {
        return Err(Code::Stopping.into());
    }
    let place = service.0.waits.enter()?;
    let rights = service.rights();
    let watcher = service.0.views.watch(view, look);
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
            Some((Ok(event), (service, watcher, seen.version, rights, place)))
        },
    );
    Ok(Sse::new(events))
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
