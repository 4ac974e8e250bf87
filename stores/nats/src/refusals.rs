//! The rights that the server denies a user. It reports a denial to the connection and not in an answer, so a refused
//! request would wait for its answer without success.

use async_nats::{Event, ServerError};
use tokio::sync::broadcast::{self, Receiver, Sender};

/// How many refusals may wait to be read. More are lost, and the requests wait.
const REFUSALS: usize = 64;

/// Refused rights that the client has received, from its event callback to the requests that they concern. Without it a
/// request that the user may not make ends as one that got no answer; with it, at once, and with the right to grant.
///
/// ```no_run
/// // Needs a NATS server.
/// use async_nats::ConnectOptions;
/// use dlock_nats::{NatsStore, Refusals};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let refusals = Refusals::default();
/// let heard = refusals.clone();
/// let options = ConnectOptions::new().event_callback(move |event| {
///     heard.note(&event);
///     async {}
/// });
/// let client = options.connect("nats://localhost").await?;
/// let store = NatsStore::new(client, "locks").refusals(refusals);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Refusals {
    sender: Sender<String>,
}

impl Default for Refusals {
    fn default() -> Self {
        Self {
            sender: Sender::new(REFUSALS),
        }
    }
}

impl Refusals {
    /// An event of the client, of whatever kind.
    pub fn note(&self, event: &Event) {
        if let Event::ServerError(ServerError::Other(text)) = event
            && let Some(subject) = refused(text)
        {
            // There may be no waiting request.
            self.sender.send(subject.to_owned()).ok();
        }
    }

    pub(crate) fn listen(&self) -> Refusal {
        Refusal(self.sender.subscribe())
    }
}

/// The refusals from now on.
pub(crate) struct Refusal(Receiver<String>);

impl Refusal {
    /// Resolves when the refused right is publishing to this subject.
    pub(crate) async fn of(&mut self, subject: &str) {
        loop {
            match self.0.recv().await {
                Ok(refused) if refused == subject => return,
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

/// The subject that a user may not publish to.
fn refused(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("Permissions Violation for Publish to \"")?;
    rest.split_once('"').map(|(subject, _)| subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_request_that_is_refused_hears_of_it() {
        let refusals = Refusals::default();
        let (mut ours, mut others) = (refusals.listen(), refusals.listen());
        let text = "Permissions Violation for Publish to \"$KV.locks.dlock.door\"";
        refusals.note(&Event::Connected);
        refusals.note(&Event::ServerError(ServerError::Other(text.into())));
        ours.of("$KV.locks.dlock.door").await;
        tokio::select! {
            biased;
            () = others.of("$KV.locks.dlock.Door") => panic!("another subject"),
            () = async {} => {}
        }
    }
}
