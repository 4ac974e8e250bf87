//! Channels that are on the node of the lock: one for each shard, one connection for each node, and the plain channel
//! on one of them, because a lock may be on another node than its shard's channel.

use std::{sync::atomic::AtomicBool, time::Duration};

use dlock_core::{ProviderError, provider::Wakeups};
use futures_util::{
    FutureExt,
    future::{BoxFuture, select_all, try_join_all},
    stream,
};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, Pipeline, ProtocolVersion, PushInfo, PushKind,
    RedisResult, Value, aio::MultiplexedConnection,
};
use tokio::sync::mpsc;

use super::{ROOM, relay, watch_over};
use crate::{
    cluster::{self, Node},
    error,
    invoke::{self, Invoker},
    key::Prefix,
    servers::Servers,
    slots,
};

/// A message from the connections: the key of a lock that was released, or the end.
type Heard = Option<Vec<u8>>;

pub(super) async fn listen(
    servers: &Servers,
    link: &Invoker,
    prefix: &Prefix,
    timeout: Duration,
) -> Result<Wakeups, ProviderError> {
    let subscriptions = plan(link, prefix).await?;
    let (sender, mut heard) = mpsc::unbounded_channel();
    let subscribe = async {
        let client = servers.client().await?;
        let subscribe = subscriptions
            .iter()
            .map(|(node, commands)| subscribe(&client, node.as_ref(), commands, &sender));
        try_join_all(subscribe).await
    };
    let sent = AtomicBool::new(false);
    let connections = invoke::within(timeout, &sent, subscribe)
        .await
        .map_err(error::provider_error)?;
    let pings = connections
        .into_iter()
        .map(|connection| watch_over(move || ping(connection.clone()), timeout).boxed());
    let silent = select_all(pings).map(|_| ());
    // `heard` ends with the first connection that does: without it, the others do not hear everything.
    let released = stream::poll_fn(move |context| heard.poll_recv(context).map(Option::flatten));
    let (sender, wakeups) = Wakeups::channel(ROOM);
    relay(prefix.clone(), released, sender, silent);
    Ok(wakeups)
}

/// The channels for each node; without a node it is the client's own.
async fn plan(
    link: &Invoker,
    prefix: &Prefix,
) -> Result<Vec<(Option<Node>, Pipeline)>, ProviderError> {
    let shares = cluster::shares(link).await?;
    let mut subscriptions: Vec<(Option<Node>, Pipeline)> = Vec::new();
    for shard in 0..slots::SHARDS {
        let channel = prefix.shard_channel(shard);
        let slot = slots::slot(channel.as_bytes());
        let node = match &shares {
            None => None,
            Some(shares) => Some(
                shares
                    .iter()
                    .find(|share| share.slots.contains(&slot))
                    .map(|share| share.primary.clone())
                    .ok_or_else(|| {
                        ProviderError::not_applied("a part of the Redis cluster has no node now")
                    })?,
            ),
        };
        let place = subscriptions.iter().position(|(known, _)| *known == node);
        let place = place.unwrap_or_else(|| {
            let mut commands = Pipeline::new();
            // The first error suffices; the driver's own would be as long as all of them.
            commands.ignore_errors();
            if subscriptions.is_empty() {
                commands.cmd("SUBSCRIBE").arg(prefix.channel());
            }
            subscriptions.push((node, commands));
            subscriptions.len() - 1
        });
        if let Some((_, commands)) = subscriptions.get_mut(place) {
            // One command each: channels of one command must share a slot.
            commands.cmd("SSUBSCRIBE").arg(channel);
        }
    }
    Ok(subscriptions)
}

/// Opens a connection to a node of the cluster and subscribes. It speaks RESP3, the only protocol in which
/// the driver hears sharded channels; every server that has them knows it.
async fn subscribe(
    client: &Client,
    node: Option<&Node>,
    commands: &Pipeline,
    sender: &mpsc::UnboundedSender<Heard>,
) -> RedisResult<MultiplexedConnection> {
    let known = client.get_connection_info();
    let newer = known
        .redis_settings()
        .clone()
        .set_protocol(ProtocolVersion::RESP3);
    let place = known
        .clone()
        .set_addr(address(known.addr(), node))
        .set_redis_settings(newer);
    let sender = sender.clone();
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None)
        .set_push_sender(move |push| hear(&sender, push));
    let mut connection = Client::open(place)?
        .get_multiplexed_async_connection_with_config(&config)
        .await?;
    let answers: Vec<RedisResult<Value>> = commands.query_async(&mut connection).await?;
    answers
        .into_iter()
        .find_map(Result::err)
        .map_or(Ok(connection), Err)
}

/// The node's address, reached like the client's: over TLS or not.
fn address(known: &ConnectionAddr, node: Option<&Node>) -> ConnectionAddr {
    let Some(Node { host, port }) = node else {
        return known.clone();
    };
    let host = |known: &String| host.clone().unwrap_or_else(|| known.clone());
    match known {
        ConnectionAddr::Tcp(known, _) => ConnectionAddr::Tcp(host(known), *port),
        ConnectionAddr::TcpTls {
            host: known,
            insecure,
            tls_params,
            ..
        } => ConnectionAddr::TcpTls {
            host: host(known),
            port: *port,
            insecure: *insecure,
            tls_params: tls_params.clone(),
        },
        _ => ConnectionAddr::Tcp(host(&"localhost".to_owned()), *port),
    }
}

/// Handles an unrequested message on a connection.
fn hear(
    sender: &mpsc::UnboundedSender<Heard>,
    PushInfo { kind, mut data }: PushInfo,
) -> Result<(), mpsc::error::SendError<Heard>> {
    match kind {
        PushKind::Message | PushKind::SMessage => match data.pop() {
            Some(Value::BulkString(key)) => sender.send(Some(key)),
            _ => Ok(()),
        },
        // The slot of a channel has moved to another node, or the connection broke.
        PushKind::SUnsubscribe | PushKind::Unsubscribe | PushKind::Disconnection => {
            sender.send(None)
        }
        _ => Ok(()),
    }
}

fn ping(mut connection: MultiplexedConnection) -> BoxFuture<'static, RedisResult<Value>> {
    async move { redis::cmd("PING").query_async(&mut connection).await }.boxed()
}
