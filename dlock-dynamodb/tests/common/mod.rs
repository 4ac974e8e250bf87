//! Common parts of this crate's tests: a server, separate tables, and clients.
//!
//! The server is `dynoxide`, inside this process. `DLOCK_TEST_DYNAMODB_URL=http://..` uses a
//! compatible server that already runs.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "every test program uses another part of this, and all of it is test code"
)]

pub mod canned;
pub mod table;

use std::{collections::HashMap, env, time::Duration};

use aws_sdk_dynamodb::{
    Client,
    config::{
        BehaviorVersion, Builder, Credentials, IdentityCache, Region,
        StalledStreamProtectionConfig, retry::RetryConfig, timeout::TimeoutConfig,
    },
    types::AttributeValue,
};
use aws_smithy_http_client::Connector;
use dlock_core::{Name, provider::Acquire};
use dlock_dynamodb::DynamodbProvider;
use dlock_test_servers::dynamodb::dynamodb;
use tokio::sync::OnceCell;
use uuid::Uuid;

/// How long a request may take in tests of something else: a server may have to share two
/// processors with sixteen tests.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The secret that no output may contain.
pub const SECRET: &str = "wJalrXUtnFEMI-a-secret-key";

/// The address of the server, which is started at the first call.
pub async fn url() -> &'static str {
    static URL: OnceCell<String> = OnceCell::const_new();
    URL.get_or_init(|| async {
        env::var("DLOCK_TEST_DYNAMODB_URL").unwrap_or_else(|_| dynamodb().unwrap().0)
    })
    .await
}

/// The settings of a client that talks plain HTTP to this address.
pub fn settings(url: &str) -> Builder {
    let http = aws_smithy_http_client::Builder::new()
        .build_with_connector_fn(|_, _| Connector::builder().build_http());
    // Without the SDK's feature `rt-tokio` a client has no timer, so everything that needs one is
    // off here. The provider brings its own.
    Builder::new()
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::disabled())
        .identity_cache(IdentityCache::no_cache())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("AKIDTEST", SECRET, None, None, "tests"))
        .endpoint_url(url)
        .http_client(http)
}

/// A client of this runtime: connections belong to the one that made them.
pub async fn client() -> Client {
    client_of(url().await)
}

/// A client of the server at this address.
pub fn client_of(url: &str) -> Client {
    Client::from_conf(settings(url).build())
}

/// A name that no other table has.
pub fn table_name() -> String {
    format!("dlock-{}", Uuid::new_v4().simple())
}

/// A provider on this table.
pub fn provider_on(client: Client, table: &str) -> DynamodbProvider {
    DynamodbProvider::builder()
        .client(client)
        .table_name(table)
        .attempt_timeout(PATIENCE)
        .call_timeout(PATIENCE)
        .build()
        .unwrap()
}

/// A provider on a separate table.
pub async fn provider() -> DynamodbProvider {
    let provider = provider_on(client().await, &table_name());
    provider.create_table().await.unwrap();
    provider
}

/// An attempt to acquire a lock for ten minutes.
pub fn term(name: &str) -> Acquire {
    Acquire::new(
        Name::new(name).unwrap(),
        Uuid::new_v4(),
        Duration::from_secs(600),
    )
    .owner("a contender")
}

pub type Item = HashMap<String, AttributeValue>;

/// The key of a lock's item in a table with the default settings.
pub fn key(name: &str) -> Item {
    HashMap::from([("name".into(), AttributeValue::S(format!("/{name}")))])
}

/// The item of a lock, as any client sees it.
pub async fn item(client: &Client, table: &str, name: &str) -> Option<Item> {
    client
        .get_item()
        .table_name(table)
        .set_key(Some(key(name)))
        .consistent_read(true)
        .send()
        .await
        .unwrap()
        .item
}

/// Writes an item as any client could.
pub async fn put(client: &Client, table: &str, item: Item) {
    client
        .put_item()
        .table_name(table)
        .set_item(Some(item))
        .send()
        .await
        .unwrap();
}
