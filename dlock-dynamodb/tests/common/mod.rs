//! What every test of this crate needs: a server, tables of its own, and clients.
//!
//! The server is `dynoxide`, inside this process. `DLOCK_TEST_DYNAMODB_LOCAL=DIRECTORY` takes AWS's
//! DynamoDB Local instead, as a child process from the jar files in that directory;
//! `DLOCK_TEST_DYNAMODB_URL=http://..` a compatible server that runs already.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "every test program uses another part of this, and all of it is test code"
)]

pub mod local;

use std::{
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

use aws_sdk_dynamodb::{
    Client,
    config::{
        BehaviorVersion, Builder, Credentials, IdentityCache, Region,
        StalledStreamProtectionConfig, retry::RetryConfig, timeout::TimeoutConfig,
    },
};
use aws_smithy_http_client::Connector;
use dlock_dynamodb::DynamoDbProvider;
use uuid::Uuid;

/// What a request may take where the test is of something else: a server may have to share two
/// processors with sixteen tests, and a Java machine begins slowly.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The address of the server, started at the first call.
pub fn url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| {
        if let Ok(url) = std::env::var("DLOCK_TEST_DYNAMODB_URL") {
            url
        } else if let Ok(jars) = std::env::var("DLOCK_TEST_DYNAMODB_LOCAL") {
            local::start(jars.as_ref())
        } else {
            dynoxide()
        }
    })
}

/// A server of this process, on a runtime of its own: those of the tests come and go.
pub fn dynoxide() -> String {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let database = dynoxide::Database::memory().unwrap();
            sender.send(address).unwrap();
            dynoxide::server::serve_on(listener, database).await;
        });
    });
    format!("http://{}", receiver.recv().unwrap())
}

/// The settings of a client that talks plain HTTP to this address.
pub fn settings(url: &str) -> Builder {
    let http = aws_smithy_http_client::Builder::new()
        .build_with_connector_fn(|_, _| Connector::builder().build_http());
    // Without the SDK's feature `rt-tokio` a client has no timer, so its own time limits and retries
    // are off here; the provider brings its own.
    Builder::new()
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::disabled())
        .identity_cache(IdentityCache::no_cache())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new(
            "test",
            "a secret that nobody may print",
            None,
            None,
            "tests",
        ))
        .endpoint_url(url)
        .http_client(http)
}

/// A client of its own: connections belong to the runtime that made them.
pub fn client() -> Client {
    Client::from_conf(settings(url()).build())
}

/// A name that no other table has.
pub fn table_name() -> String {
    format!("dlock-{}", Uuid::new_v4().simple())
}

/// A provider on this table.
pub fn provider_on(client: Client, table: &str) -> DynamoDbProvider {
    DynamoDbProvider::builder()
        .client(client)
        .table(table)
        .attempt_timeout(PATIENCE)
        .operation_timeout(PATIENCE)
        .build()
        .unwrap()
}

/// A provider on a table of its own.
pub async fn provider() -> DynamoDbProvider {
    let provider = provider_on(client(), &table_name());
    provider.create_table().await.unwrap();
    provider
}
