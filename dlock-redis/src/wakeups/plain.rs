//! For a single server, or a primary with replicas: a channel for each lock that is waited for, and one for all of
//! them.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use dlock_core::{
    Name, ProviderError,
    provider::{WakeupSender, Wakeups},
};
use futures_util::stream::StreamExt;
use redis::{RedisResult, aio::PubSubSink};
use tokio::time;

use super::{ROOM, relay, waited::WaitedNames, watch_over};
use crate::{
    error::{self, is_reply},
    invoke::{self, FLIGHT},
    key::Prefix,
    servers::Servers,
};

pub(super) async fn listen(
    servers: &Servers,
    prefix: &Prefix,
    waited: Arc<WaitedNames>,
    timeout: Duration,
) -> Result<Wakeups, ProviderError> {
    let subscribe = async {
        let mut channel = servers.client().await?.get_async_pubsub().await?;
        channel.subscribe(prefix.channel()).await?;
        Ok(channel.split())
    };
    let sent = AtomicBool::new(false);
    let (sink, messages) = invoke::within(timeout, &sent, subscribe)
        .await
        .map_err(error::provider_error)?;
    let released = messages.map(|message| message.get_payload_bytes().to_vec());
    let (sender, wakeups) = Wakeups::channel(ROOM);
    let subscriber = Subscriber {
        sink: sink.clone(),
        prefix: prefix.clone(),
        limit: timeout,
    };
    let follow = subscriber.follow(waited, sender.clone());
    let ping = move || {
        let mut sink = sink.clone();
        async move { sink.ping().await }
    };
    let silent = async move {
        tokio::select! {
            () = follow => {}
            () = watch_over(ping, timeout) => {}
        }
    };
    relay(prefix.clone(), released, sender, silent);
    Ok(wakeups)
}

/// Makes the connection listen for the locks that are waited for, and for no others.
struct Subscriber {
    sink: PubSubSink,
    prefix: Prefix,
    limit: Duration,
}

impl Subscriber {
    /// Returns when the server does not answer in time, or the receiver of the hints is gone.
    async fn follow(self, waited: Arc<WaitedNames>, sender: WakeupSender) {
        loop {
            waited.due().await;
            let round = waited.round();
            for names in round.over.chunks(FLIGHT) {
                let channels = self.channels(names);
                if self
                    .answer(self.sink.clone().unsubscribe(channels))
                    .await
                    .is_none()
                {
                    return;
                }
            }
            let mut heard = Vec::new();
            for names in round.unsaid.chunks(FLIGHT) {
                let channels = self.channels(names);
                match self.answer(self.sink.clone().subscribe(channels)).await {
                    Some(true) => heard.extend_from_slice(names),
                    Some(false) => {}
                    None => return,
                }
            }
            if !waited
                .said(&heard)
                .into_iter()
                .all(|hint| sender.send(hint))
            {
                return;
            }
        }
    }

    fn channels(&self, names: &[Name]) -> Vec<String> {
        names
            .iter()
            .map(|name| self.prefix.lock_channel(name))
            .collect()
    }

    /// Whether the server has done it; it has not if the user lacks the right. `None` without an answer in time.
    async fn answer(&self, asked: impl Future<Output = RedisResult<()>>) -> Option<bool> {
        match time::timeout(self.limit, asked).await {
            Ok(Ok(())) => Some(true),
            Ok(Err(error)) if is_reply(&error) => Some(false),
            _ => None,
        }
    }
}
