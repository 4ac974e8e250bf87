//! Wake-ups (W3): where releases are told, and how they are heard, over connections of our own. What is
//! told is part of the release script.

mod plain;
mod sharded;
pub(crate) mod waited;

use std::time::Duration;

use dlock_core::{
    ProviderError,
    provider::{Wakeup, WakeupSender, Wakeups},
};
use futures_util::stream::{Stream, StreamExt};
use redis::{RedisResult, Value};
use tokio::time;

use self::waited::Waited;
use crate::{error::is_reply, key::Prefix, link::Link, servers::Servers};

/// How often a channel that may be silent for long is asked whether it still lives.
const PING_EVERY: Duration = Duration::from_secs(3);

/// So many hints may wait to be taken. One more ends the channel, and everyone is woken.
const ROOM: usize = 4096;

/// The channels on which releases are told to those who wait: see
/// [`wakeups`](crate::RedisProviderBuilder::wakeups).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Channels {
    /// A channel for each lock, to which a process listens while it waits for that lock: for a single server, or a
    /// primary with replicas. In a cluster it works too, but there every message goes to every node.
    Plain,
    /// Sharded channels, one for each 64 slots, which stay on the node of the lock that was released: for a cluster of
    /// Redis 7 or later, or Valkey. A process that has waited hears of all locks.
    Sharded,
}

/// How this provider hears of releases.
pub(crate) struct Hearing {
    pub(crate) servers: Servers,
    pub(crate) channels: Channels,
    pub(crate) timeout: Duration,
}

impl Hearing {
    /// Subscribes. When this returns, the server has confirmed every channel.
    pub(crate) async fn begin(
        &self,
        link: &Link,
        prefix: &Prefix,
        waited: &Waited,
    ) -> Result<Wakeups, ProviderError> {
        let Self {
            servers,
            channels,
            timeout,
        } = self;
        match channels {
            Channels::Plain => plain::listen(servers, prefix, waited.open(), *timeout).await,
            Channels::Sharded => sharded::listen(servers, link, prefix, *timeout).await,
        }
    }
}

/// Passes on what is heard, until nobody wants it, the stream ends, or `silent` says that it is dead.
/// Then everything is dropped, the connections too.
fn relay(
    prefix: Prefix,
    released: impl Stream<Item = Vec<u8>> + Send + 'static,
    sender: WakeupSender,
    silent: impl Future<Output = ()> + Send + 'static,
) {
    tokio::spawn(async move {
        tokio::select! {
            biased;
            () = sender.closed() => {}
            () = pass_on(&prefix, released, &sender) => {
                tracing::debug!(backend = "redis", "the channel for wake-ups ended");
            }
            () = silent => {
                tracing::debug!(backend = "redis", "the channel for wake-ups fell silent");
            }
        }
    });
}

/// Returns when the stream ends, or nobody takes the hints.
async fn pass_on(prefix: &Prefix, released: impl Stream<Item = Vec<u8>>, sender: &WakeupSender) {
    let mut released = Box::pin(released);
    while let Some(key) = released.next().await {
        // Anybody may send anything to a channel.
        let Some(name) = prefix.name(&key) else {
            continue;
        };
        if !sender.send(Wakeup::Name(name)) {
            return;
        }
    }
}

/// Asks again and again whether the server is there; returns when it does not say so in time. A silent
/// partition leaves a connection that looks alive for hours.
async fn watch_over<F>(ping: impl Fn() -> F, limit: Duration)
where
    F: Future<Output = RedisResult<Value>>,
{
    loop {
        time::sleep(PING_EVERY).await;
        match time::timeout(limit, ping()).await {
            Ok(Ok(_)) => {}
            // A user may lack the right to ask; being told so is an answer.
            Ok(Err(error)) if is_reply(&error) => {}
            _ => return,
        }
    }
}
