//! Redis, which writes everything to its disk before it answers: without that a killed server forgets
//! locks, as documented.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::Provider;
use dlock_redis::{RedisProvider, redis};
use dlock_testkit::service::{Service, redis as server};
use tokio::time::sleep;

use super::{Backend, Blow, Place, Store};
use crate::cli::Failure;

pub(super) struct Redis;

#[async_trait]
impl Backend for Redis {
    async fn start(&self, _: &Path) -> Result<Box<dyn Store>, Failure> {
        let durable = ["--appendonly", "yes", "--appendfsync", "always"];
        Ok(Box::new(Server(server::redis(&durable).await?)))
    }

    async fn connect(&self, place: &str) -> Result<Arc<dyn Provider>, Failure> {
        let client = redis::Client::open(format!("redis://{place}/"))?;
        let provider = RedisProvider::builder().client(client).build()?;
        Ok(Arc::new(provider))
    }
}

struct Server(Service);

impl Server {
    fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.0.place().port()).into()
    }
}

#[async_trait]
impl Store for Server {
    fn place(&self) -> Place {
        Place::Server(self.address())
    }

    fn blows(&self, longest: Duration) -> Vec<Blow> {
        vec![Blow::Restart(longest / 2), Blow::Freeze(longest), Blow::Cut]
    }

    async fn suffer(&mut self, blow: Blow) -> Result<(), Failure> {
        match blow {
            Blow::Restart(down) => {
                self.0.signal("KILL")?;
                sleep(down).await;
                let ready = |place| async move { server::is_ready(&place).await };
                self.0.restart(ready).await?;
            }
            Blow::Freeze(time) => {
                self.0.signal("STOP")?;
                sleep(time).await;
                self.0.signal("CONT")?;
            }
            Blow::Cut => {
                let client = redis::Client::open(format!("redis://{}/", self.address()))?;
                let mut connection = client.get_multiplexed_async_connection().await?;
                // All but the one that asks.
                redis::cmd("CLIENT")
                    .arg(&["KILL", "TYPE", "normal"])
                    .query_async::<i64>(&mut connection)
                    .await?;
            }
            Blow::Occupy(_) => {}
        }
        Ok(())
    }
}
