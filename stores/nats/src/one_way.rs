//! A connection that loses every request and still delivers messages, and how it is replaced.
//!
//! The client sends pings on its connection only after it has received nothing for a while. Each message to a watch
//! counts as received, even one that nothing has happened: such a connection would stay in use for minutes, or for
//! ever. So when a request got no answer, the watch sends the server a query of its own. If that is not answered, and
//! no request is, while other things arrive, the watch makes the client reconnect. A server that stands still sends
//! nothing and is left to the pings.

use std::{sync::atomic::Ordering, time::Duration};

use async_nats::{Client, Request};
use tokio::time::sleep;

use crate::calls::Calls;

/// How long the server may take to answer, once after the query and once more after a sign of life. A server that takes
/// longer for everything costs a new connection, and a request of each waiter.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a watch trusts its connection, whatever happens: a new one would not help a server that has too much to do.
const BELIEVED: Duration = Duration::from_secs(5);

/// How often it checks whether something has arrived.
const LOOK: Duration = Duration::from_millis(100);

/// The query of a watch when a request got no answer.
pub(crate) struct Suspicion {
    pub(crate) client: Client,
    /// A subject without subscribers that the user may publish to: the server that the client is connected to reports
    /// that itself, without JetStream.
    pub(crate) nobody: String,
    pub(crate) calls: Calls,
}

impl Suspicion {
    /// Replaces the connection if it loses requests. Never ends.
    pub(crate) async fn run(self) {
        let mut unanswered = self.calls.unanswered();
        sleep(BELIEVED).await;
        while unanswered.changed().await.is_ok() {
            if self.loses_requests().await {
                // It fails if the client is closed.
                self.client.force_reconnect().await.ok();
            }
        }
    }

    async fn loses_requests(&self) -> bool {
        let before = (self.connects(), self.calls.answers());
        let question = Request::new().timeout(None);
        let question = self.client.send_request(self.nobody.clone(), question);
        tokio::select! {
            _ = question => return false,
            () = self.is_silent_but_alive() => {}
        }
        (self.connects(), self.calls.answers()) == before
    }

    /// Resolves when the server has had time enough to answer, and has shown that it is alive.
    async fn is_silent_but_alive(&self) {
        sleep(PATIENCE).await;
        let before = self.received();
        while self.received() == before {
            sleep(LOOK).await;
        }
        sleep(PATIENCE).await;
    }

    fn connects(&self) -> u64 {
        self.client.statistics().connects.load(Ordering::Relaxed)
    }

    fn received(&self) -> u64 {
        self.client.statistics().in_bytes.load(Ordering::Relaxed)
    }
}
