//! A store that is compatible with DynamoDB, in a separate process: this program as
//! `dlock-chaos dynamodb`, which serves `dynoxide` from a file. After a kill, the server finds every write
//! in the file that it had acknowledged.

use std::{net::SocketAddr, path::Path, process::Command, sync::Arc, time::Duration};

use async_trait::async_trait;
use aws_sdk_dynamodb::{
    Client, Config,
    config::{
        BehaviorVersion, Credentials, IdentityCache, Region, StalledStreamProtectionConfig,
        retry::RetryConfig, timeout::TimeoutConfig,
    },
};
use aws_smithy_http_client::Connector;
use dlock_core::Provider;
use dlock_dynamodb::DynamodbProvider;
use dlock_test_servers::{Place, Service};
use dynoxide::Database;
use tokio::net::TcpListener;

use super::{Backend, Store, server::Server};
use crate::cli::Failure;

const TABLE: &str = "locks";

pub(super) struct DynamoDb;

#[async_trait]
impl Backend for DynamoDb {
    async fn start(&self, _: &Path) -> Result<Box<dyn Store>, Failure> {
        let program = std::env::current_exe()?;
        let service = Service::builder(|place: &Place| {
            let mut command = Command::new(&program);
            command
                .arg("dynamodb")
                .arg(place.dir().join("data.db"))
                .arg(place.port().to_string());
            command
        })
        .spawn(ready)
        .await?;
        let server = Server {
            service,
            ready: |place| Box::pin(ready(place)),
            cut: None,
        };
        on(server.address())?.create_table().await?;
        Ok(Box::new(server))
    }

    async fn connect(&self, place: &str) -> Result<Arc<dyn Provider>, Failure> {
        Ok(Arc::new(on(place.parse()?)?))
    }
}

/// Serves the file.
pub(crate) async fn serve(file: &Path, port: u16) -> Result<(), Failure> {
    let file = file.to_str().ok_or("the path is not UTF-8")?;
    let database = Database::new(file)?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    dynoxide::server::serve_on(listener, database).await;
    Ok(())
}

fn on(server: SocketAddr) -> Result<DynamodbProvider, Failure> {
    let http = aws_smithy_http_client::Builder::new()
        .build_with_connector_fn(|_, _| Connector::builder().build_http());
    // Without the SDK's feature `rt-tokio` a client has no timer, so everything that needs one is off here.
    // The provider brings its own timer.
    let config = Config::builder()
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::disabled())
        .identity_cache(IdentityCache::no_cache())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("chaos", "chaos", None, None, "chaos"))
        .endpoint_url(format!("http://{server}"))
        .http_client(http)
        .build();
    let provider = DynamodbProvider::builder()
        .client(Client::from_conf(config))
        .table_name(TABLE)
        .attempt_timeout(Duration::from_secs(1))
        .build()?;
    Ok(provider)
}

async fn ready(place: Place) -> bool {
    place.accepts_connections().await
}
