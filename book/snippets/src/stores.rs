//! "Choosing a store": how each is opened.

use crate::Failure;

// ANCHOR: sqlite
use dlock::sqlite::SqliteProvider;

pub fn sqlite(file: &std::path::Path) -> Result<SqliteProvider, Failure> {
    // Makes the file; its directory must be there.
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
        // Waiters are told of releases, over one connection more. To the server itself,
        // not to a pooler.
        .listen(database, tokio_postgres::NoTls)
        .build()?;
    // Makes the table where it is missing. `schema_sql` is the same for your own
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
        // Waiters are told of releases, over one connection more.
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
    // Or `verify_table`, where tables are made by other means.
    provider.create_table().await?;
    Ok(provider)
}
// ANCHOR_END: dynamodb
