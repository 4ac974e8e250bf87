//! Hints as server-sent events.

use std::{convert::Infallible, time::Duration};

use axum::response::sse::{Event, KeepAlive, Sse};
use dlock_core::{ProviderError, provider::Wakeup};
use dlock_http::Code;
use futures_util::{Stream, stream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{
    asking::Asking,
    hints::Listener,
    problem::{Refusal, of_store},
};

/// How often a stream shows that it is alive. A client that receives nothing for three times as long opens
/// another.
const ALIVE: Duration = Duration::from_secs(10);

/// The hints of a listener, as `shown` writes them, until `ended`. Hints for which `shown` has no event are left
/// out.
pub(crate) async fn of<Open, Shown>(
    service: Asking,
    ended: CancellationToken,
    open: Open,
    shown: Shown,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal>
where
    Open: Future<Output = Result<Option<Listener>, ProviderError>> + Send,
    Shown: Fn(Wakeup, &mut Listener) -> Option<Event> + Send + Sync + 'static,
{
    if service.0.stopping.is_cancelled() {
        return Err(Code::Stopping.into());
    }
    let place = service.wait()?;
    let listener = match timeout(service.0.limits.call_time, open).await {
        Ok(Ok(Some(listener))) => listener,
        Ok(Ok(None)) => return Err(Refusal::new(Code::NotFound, "this store has no hints")),
        Ok(Err(error)) => return Err(of_store(&error).into()),
        Err(_elapsed) => return Err(Code::NotApplied.into()),
    };
    let heard = (listener, place, shown, ended);
    let events = stream::unfold(heard, |(mut listener, place, shown, ended)| async move {
        loop {
            let hint = tokio::select! {
                biased;
                () = ended.cancelled() => return None,
                hint = listener.next() => hint?,
            };
            if let Some(event) = shown(hint, &mut listener) {
                return Some((Ok(event), (listener, place, shown, ended)));
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)))
}
