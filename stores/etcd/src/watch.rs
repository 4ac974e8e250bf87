//! A watch of the keys with a prefix, which ends when the connection that it uses carries no requests.
//!
//! All calls share a connection, and the client sends pings on it only after it has received nothing for a while.
//! Events of a watch count as received: while locks change, a connection that loses every request would stay in use for
//! ever. So when any call gets no answer, the watch queries the server on its own stream, and ends if no answer comes.
//! Then the client receives nothing any more, and its pings notice the connection.

use std::time::Duration;

use dlock_cas::Hints;
use dlock_core::ProviderError;
use etcd_client::{Client, Event, EventType, WatchOptions, WatchStream};
use tokio::{sync::watch, time::timeout};

use crate::{calls::Calls, error::unexpected};

/// How long the server may take to answer on the stream of a watch. A slower one costs a new watch, and a request of
/// each waiter.
const PATIENCE: Duration = Duration::from_secs(1);

/// A message of the server to a watch.
enum Told {
    Changes,
    /// The answer to a query of the watch.
    Progress,
}

/// Begins to report changes of keys with this prefix.
pub(crate) async fn open(
    client: &Client,
    calls: &Calls,
    prefix: &str,
    hints: Hints,
) -> Result<(), ProviderError> {
    let unanswered = calls.unanswered();
    let options = WatchOptions::new().with_prefix();
    let open = || {
        let (mut client, options) = (client.watch_client(), options.clone());
        async move {
            let mut stream = client.watch(prefix, Some(options)).await?;
            // It listens from the first message on.
            let first = stream.message().await?;
            Ok((stream, first))
        }
    };
    let (stream, first) = calls.answer(open).await?;
    match first {
        Some(message) if message.created() && !message.canceled() => {}
        _ => return Err(unexpected("a watch that was not created")),
    }
    tokio::spawn(async move {
        tokio::select! {
            () = hints.closed() => {}
            () = report(stream, &hints, unanswered) => {}
        }
    });
    Ok(())
}

/// Hints at changes until the watch ends, no receiver is left, or the server does not answer the watch.
async fn report(mut stream: WatchStream, hints: &Hints, mut unanswered: watch::Receiver<()>) {
    loop {
        tokio::select! {
            told = next(&mut stream, hints) => if told.is_none() { return },
            Ok(()) = unanswered.changed() => {
                let answered = timeout(PATIENCE, answers(&mut stream, hints)).await;
                if !answered.unwrap_or(false) {
                    return;
                }
            }
        }
    }
}

/// Whether the server answers on the stream. It hints at changes meanwhile.
async fn answers(stream: &mut WatchStream, hints: &Hints) -> bool {
    if stream.request_progress().await.is_err() {
        return false;
    }
    loop {
        match next(stream, hints).await {
            Some(Told::Changes) => {}
            Some(Told::Progress) => return true,
            None => return false,
        }
    }
}

/// Hints at the changes in the server's next message. `None`: it was the last, or no receiver is left.
async fn next(stream: &mut WatchStream, hints: &Hints) -> Option<Told> {
    let message = stream.message().await.ok()??;
    if message.canceled() || !message.events().iter().all(|event| hint(event, hints)) {
        return None;
    }
    // Without a query, the server sends nothing but changes.
    Some(if message.events().is_empty() {
        Told::Progress
    } else {
        Told::Changes
    })
}

/// Whether to continue.
fn hint(event: &Event, hints: &Hints) -> bool {
    let Some(changed) = event.kv() else {
        return true;
    };
    let Ok(key) = changed.key_str() else {
        return true;
    };
    let bytes = (event.event_type() == EventType::Put).then(|| changed.value());
    hints.changed(key, bytes)
}
