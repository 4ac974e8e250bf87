//! Wake-ups: where releases are announced, and how they are received, over connections of our own. The announcement is
//! part of the release script.

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
use crate::{error::is_reply, invoke::Invoker, key::Prefix, servers::Servers};

/// How often a channel that may be silent for long is pinged.
const PING_EVERY: Duration = Duration::from_secs(3);

/// How many hints may wait to be taken. One more ends the channel, and every waiter is woken.
const ROOM: usize = 4096;

/// The channels on which releases are announced to waiters: see [`wakeups`](crate::RedisProviderBuilder::wakeups).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Channels {
    /// A channel for each lock, to which a process listens while it waits for that lock: for a single server, or a
    /// primary with replicas. It also works in a cluster, but there every message goes to every node.
    Plain,
    /// Sharded channels, one for each 64 slots, which stay on the node of the lock that was released: for a cluster of
    /// Redis 7 or later, or Valkey. A process that has waited is notified of all locks.
    Sharded,
}

/// How this provider is notified of releases.
pub(crate) struct Hearing {
    pub(crate) servers: Servers,
    pub(crate) channels: Channels,
    pub(crate) timeout: Duration,
}

impl Hearing {
    /// Subscribes. When this returns, the server has confirmed every channel.
    pub(crate) async fn begin(
        &self,
        link: &Invoker,
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

/// Passes hints on until the receiver is gone, the stream ends, or `silent` reports that it is dead. Then everything is
/// dropped, including the connections.
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

/// Returns when the stream ends, or the receiver of the hints is gone.
async fn pass_on(prefix: &Prefix, released: impl Stream<Item = Vec<u8>>, sender: &WakeupSender) {
    let mut released = Box::pin(released);
    while let Some(key) = released.next().await {
        // Any client may send anything to a channel.
        let Some(name) = prefix.name(&key) else {
            continue;
        };
        if !sender.send(Wakeup::Name(name)) {
            return;
        }
    }
}

/// Pings the server again and again; returns when it does not answer in time. A silent partition leaves a connection
/// that looks alive for hours.
async fn watch_over<F>(ping: impl Fn() -> F, limit: Duration)
where
    F: Future<Output = RedisResult<Value>>,
{
    loop {
        time::sleep(PING_EVERY).await;
        match time::timeout(limit, ping()).await {
            Ok(Ok(_)) => {}
            // A user may lack the right to ping; the server's refusal is an answer too.
            Ok(Err(error)) if is_reply(&error) => {}
            _ => return,
        }
    }
}
