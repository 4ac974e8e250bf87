//! etcd, with one member. Everything that it acknowledged is on its disk.

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::Provider;
use dlock_test_servers::etcd::{etcd, is_ready};
use etcd_client::{Client, ConnectOptions};

use super::{Backend, Store, server::Server};
use crate::cli::Failure;

/// How long a connection may be silent until a ping checks it, and how long the answer may take. All calls
/// share the connection, and no other sign shows that the wire is cut. Some leases here are shorter than this takes.
const ALIVE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(200));

pub(super) struct Etcd;

#[async_trait]
impl Backend for Etcd {
    async fn start(&self, _: &Path) -> Result<Box<dyn Store>, Failure> {
        Ok(Box::new(Server {
            service: etcd().await?,
            ready: |place| Box::pin(is_ready(place)),
            cut: None,
        }))
    }

    async fn connect(&self, place: &str) -> Result<Arc<dyn Provider>, Failure> {
        let (interval, timeout) = ALIVE;
        let options = ConnectOptions::new()
            .with_connect_timeout(Duration::from_millis(500))
            .with_keep_alive(interval, timeout)
            .with_keep_alive_while_idle(false);
        let client = Client::connect([format!("http://{place}")], Some(options)).await?;
        Ok(Arc::new(dlock_etcd::provider(client, "dlock")?))
    }
}
