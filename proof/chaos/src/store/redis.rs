//! Redis, which writes everything to its disk before it answers: without that a killed server forgets
//! locks, as documented.

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::Provider;
use dlock_redis::{Channels, RedisProvider, redis};
use dlock_test_servers::{Service, redis as redis_server};

use super::{
    Backend, Blow, Store,
    server::{address, freeze, restart},
};
use crate::cli::Failure;

pub(super) struct Redis;

#[async_trait]
impl Backend for Redis {
    async fn start(&self, _: &Path) -> Result<Box<dyn Store>, Failure> {
        let durable = ["--appendonly", "yes", "--appendfsync", "always"];
        Ok(Box::new(Server(redis_server::redis(&durable).await?)))
    }

    async fn connect(&self, place: &str) -> Result<Arc<dyn Provider>, Failure> {
        let client = redis::Client::open(format!("redis://{place}/"))?;
        let provider = RedisProvider::builder()
            .client(client)
            .wakeups(Channels::Plain);
        Ok(Arc::new(provider.build()?))
    }
}

struct Server(Service);

#[async_trait]
impl Store for Server {
    fn place(&self) -> super::Place {
        super::Place::Server(address(&self.0))
    }

    fn blows(&self, longest: Duration) -> Vec<Blow> {
        vec![Blow::Restart(longest / 2), Blow::Freeze(longest), Blow::Cut]
    }

    async fn suffer(&mut self, blow: Blow) -> Result<(), Failure> {
        match blow {
            Blow::Restart(down) => restart(&mut self.0, down, redis_server::is_ready).await?,
            Blow::Freeze(time) => freeze(&mut self.0, time).await?,
            Blow::Cut => {
                let client = redis::Client::open(format!("redis://{}/", address(&self.0)))?;
                let mut connection = client.get_multiplexed_async_connection().await?;
                // All but the one that asks.
                for kind in ["normal", "pubsub"] {
                    redis::cmd("CLIENT")
                        .arg(&["KILL", "TYPE", kind])
                        .query_async::<i64>(&mut connection)
                        .await?;
                }
            }
            Blow::Occupy(_) => {}
        }
        Ok(())
    }
}
