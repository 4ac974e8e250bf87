//! "Choosing a store": how to open each.

use crate::Failure;

// ANCHOR: sqlite
use dlock::sqlite::SqliteProvider;

pub fn sqlite(file: &std::path::Path) -> Result<SqliteProvider, Failure> {
    // Creates the file; its directory must exist.
    Ok(SqliteProvider::open(file)?)
}
// ANCHOR_END: sqlite

// ANCHOR: postgres
use dlock::postgres::{
    PostgresProvider,
    deadpool_postgres::{Manager, Pool, tokio_postgres},
};

pub async fn postgres(url: &str) -> Result<PostgresProvider, Failure> {
    let database: tokio_postgres::Config = url.parse()?;
    let connections = Manager::new(database.clone(), tokio_postgres::NoTls);
    let provider = PostgresProvider::builder()
        .pool(Pool::builder(connections).max_size(8).build()?)
        // Notifies waiters of releases, over one more connection, which goes to the
        // server itself, not to a pooler.
        .listen(database, tokio_postgres::NoTls)
        .build()?;
    // Creates the table if it is missing. `schema_sql` is the same for your own
    // migrations.
    provider.create_schema().await?;
    Ok(provider)
}
// ANCHOR_END: postgres

// ANCHOR: redis
use dlock::redis::{Channels, RedisProvider};

pub fn redis(url: &str) -> Result<RedisProvider, Failure> {
    let provider = RedisProvider::builder()
        .client(redis::Client::open(url)?)
        // Notifies waiters of releases, over one more connection.
        .wakeups(Channels::Plain)
        .build()?;
    Ok(provider)
}
// ANCHOR_END: redis

// ANCHOR: dynamodb
use dlock::dynamodb::DynamodbProvider;

pub async fn dynamodb(
    client: aws_sdk_dynamodb::Client,
) -> Result<DynamodbProvider, Failure> {
    let provider = DynamodbProvider::builder()
        .client(client)
        .table_name("locks")
        .build()?;
    // Or `verify_table`, if you create tables by other means.
    provider.create_table().await?;
    Ok(provider)
}
// ANCHOR_END: dynamodb
