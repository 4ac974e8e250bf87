//! A watch of the keys with a prefix, and its end when the connection that it uses carries no requests.
//!
//! All calls share a connection, and the client sends pings on it only after it has received nothing for a while. Events of
//! a watch count as received: while locks change, a connection that loses every request would stay in use for
//! ever. So when any call gets no answer, the watch asks the server on its own stream, and ends if no answer comes.
//! Then nothing is received any more, and the pings find out.

use std::time::Duration;

use dlock_cas::Hints;
use dlock_core::ProviderError;
use etcd_client::{Client, Event, EventType, WatchOptions, WatchStream};
use tokio::{sync::watch, time::timeout};

use crate::{calls::Calls, error::unexpected};

/// How long the server may take to answer on the stream of a watch. A slower one costs a new watch, and a question of each
/// waiter.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the server tells a watch.
enum Told {
    Changes,
    /// The answer to a question of the watch's own.
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

/// Hints at changes until the watch ends, nobody listens, or the server does not answer the watch.
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

/// Whether the server answers on the stream. Changes are hinted at meanwhile.
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

/// Hints at what the server tells next. `None`: it is the last, or nobody listens.
async fn next(stream: &mut WatchStream, hints: &Hints) -> Option<Told> {
    let message = stream.message().await.ok()??;
    if message.canceled() || !message.events().iter().all(|event| hint(event, hints)) {
        return None;
    }
    // Unasked, the server tells nothing but changes.
    Some(if message.events().is_empty() {
        Told::Progress
    } else {
        Told::Changes
    })
}

/// Whether to go on.
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
