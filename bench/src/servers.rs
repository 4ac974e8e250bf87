//! The servers of a run: child processes on free loopback ports, their files in temporary folders,
//! gone with this process.

use std::process::Command;

use anyhow::{Context, Result};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
    TimeToLiveSpecification,
};
use dlock_test_servers::{
    Place, Service,
    dynamodb::dynoxide::{Database, server},
    postgres::postgres,
    redis::redis,
};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::{
    account::family_time,
    systems::{
        Places, Store, dynamodb_client, dynamodb_tables,
        ours::{self, Waiting},
        postgres_pool,
    },
};

/// The servers; dropping them ends them.
pub(crate) struct Servers {
    pub(crate) places: Places,
    services: Vec<(Store, Service)>,
    _folder: Option<TempDir>,
}

/// The settings of Postgres: commits wait for the disk, every statement is counted, no checkpoint falls into a run, and
/// shared memory is where it is by default.
const POSTGRES: &[&str] = &[
    "fsync=on",
    "max_connections=500",
    "shared_buffers=256MB",
    "max_wal_size=8GB",
    "checkpoint_timeout=1h",
    "dynamic_shared_memory_type=posix",
    "shared_preload_libraries=pg_stat_statements",
];

impl Servers {
    pub(crate) async fn start(stores: &[Store]) -> Result<Self> {
        let mut servers = Self {
            places: Places::default(),
            services: Vec::new(),
            _folder: None,
        };
        for &store in stores {
            servers
                .add(store)
                .await
                .with_context(|| format!("cannot start {store}"))?;
        }
        Ok(servers)
    }

    async fn add(&mut self, store: Store) -> Result<()> {
        let service = match store {
            Store::Redis => {
                let service = redis(&[]).await?;
                self.places.redis = Some(service.place().port());
                service
            }
            Store::Postgres => {
                let service = postgres(POSTGRES).await?;
                self.places.postgres = Some(service.place().port());
                let client = postgres_pool(&self.places)?.get().await?;
                client
                    .batch_execute("CREATE EXTENSION pg_stat_statements")
                    .await?;
                client
                    .batch_execute(crate::systems::POSTGRES_TABLES)
                    .await?;
                ours::postgres_provider(&self.places, Waiting::Polled)?
                    .create_schema()
                    .await?;
                service
            }
            Store::SQLite => {
                let folder = tempfile::tempdir()?;
                self.places.sqlite = Some(folder.path().to_owned());
                self._folder = Some(folder);
                return Ok(());
            }
            Store::DynamoDb => {
                let program = std::env::current_exe()?;
                let service = Service::builder(|place: &Place| {
                    let mut command = Command::new(&program);
                    command.arg("dynamodb").arg(place.port().to_string());
                    command
                })
                .spawn(|place| async move { place.accepts_connections().await })
                .await?;
                self.places.dynamodb = Some(service.place().port());
                self.dynamodb_tables().await?;
                service
            }
        };
        self.services.push((store, service));
        Ok(())
    }

    async fn dynamodb_tables(&self) -> Result<()> {
        ours::dynamodb_provider(&self.places)?
            .create_table()
            .await?;
        let client = dynamodb_client(&self.places)?;
        for &(table, key) in dynamodb_tables() {
            client
                .create_table()
                .table_name(table)
                .billing_mode(BillingMode::PayPerRequest)
                .attribute_definitions(
                    AttributeDefinition::builder()
                        .attribute_name(key)
                        .attribute_type(ScalarAttributeType::S)
                        .build()?,
                )
                .key_schema(
                    KeySchemaElement::builder()
                        .attribute_name(key)
                        .key_type(KeyType::Hash)
                        .build()?,
                )
                .send()
                .await?;
            // dynamodb-lease refuses a table without time to live.
            client
                .update_time_to_live()
                .table_name(table)
                .time_to_live_specification(
                    TimeToLiveSpecification::builder()
                        .attribute_name("lease_expiry")
                        .enabled(true)
                        .build()?,
                )
                .send()
                .await?;
        }
        Ok(())
    }

    /// Processor time that a store's processes have used so far. None for SQLite, which runs in
    /// our process.
    pub(crate) fn processor_time(&self, store: Store) -> std::time::Duration {
        let pid = self
            .services
            .iter()
            .find(|(of, _)| *of == store)
            .and_then(|(_, service)| service.place().pid());
        pid.map_or(std::time::Duration::ZERO, family_time)
    }
}

/// Serves a store that is compatible with DynamoDB, in memory, until the process is ended.
pub(crate) async fn serve_dynamodb(port: u16) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    server::serve_on(listener, Database::memory()?).await;
    Ok(())
}
