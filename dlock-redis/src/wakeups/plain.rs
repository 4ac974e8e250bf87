//! One channel for all locks of a prefix.

use std::{sync::atomic::AtomicBool, time::Duration};

use dlock_core::{ProviderError, provider::Wakeups};
use futures_util::stream::StreamExt;

use super::{relay, watch_over};
use crate::{error, key::Prefix, link, servers::Servers};

pub(super) async fn listen(
    servers: &Servers,
    prefix: &Prefix,
    timeout: Duration,
) -> Result<Wakeups, ProviderError> {
    let subscribe = async {
        let mut channel = servers.client().await?.get_async_pubsub().await?;
        channel.subscribe(prefix.channel()).await?;
        Ok(channel.split())
    };
    let sent = AtomicBool::new(false);
    let (sink, messages) = link::within(timeout, &sent, subscribe)
        .await
        .map_err(error::provider_error)?;
    let released = messages.map(|message| message.get_payload_bytes().to_vec());
    let ping = move || {
        let mut sink = sink.clone();
        async move { sink.ping().await }
    };
    Ok(relay(prefix.clone(), released, watch_over(ping, timeout)))
}
