//! Redis, which writes everything to its disk before it answers: otherwise a killed server forgets
//! locks, as documented.

use std::{net::SocketAddr, path::Path, sync::Arc};

use async_trait::async_trait;
use dlock_core::Provider;
use dlock_redis::{Channels, RedisProvider, redis};
use dlock_test_servers::redis as redis_server;

use super::{Backend, Store, server::Server};
use crate::cli::Failure;

pub(super) struct Redis;

#[async_trait]
impl Backend for Redis {
    async fn start(&self, _: &Path) -> Result<Box<dyn Store>, Failure> {
        let durable = ["--appendonly", "yes", "--appendfsync", "always"];
        Ok(Box::new(Server {
            service: redis_server::redis(&durable).await?,
            ready: |place| Box::pin(redis_server::is_ready(place)),
            cut: Some(|server| Box::pin(cut(server))),
        }))
    }

    async fn connect(&self, place: &str) -> Result<Arc<dyn Provider>, Failure> {
        let client = redis::Client::open(format!("redis://{place}/"))?;
        let provider = RedisProvider::builder()
            .client(client)
            .wakeups(Channels::Plain);
        Ok(Arc::new(provider.build()?))
    }
}

async fn cut(server: SocketAddr) -> Result<(), Failure> {
    let client = redis::Client::open(format!("redis://{server}/"))?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    // All connections except this one.
    for kind in ["normal", "pubsub"] {
        redis::cmd("CLIENT")
            .arg(&["KILL", "TYPE", kind])
            .query_async::<i64>(&mut connection)
            .await?;
    }
    Ok(())
}
