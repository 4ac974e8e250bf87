//! 100,000 leases of 15 s in one process, on a server of its own: time to spare, and what it costs.
//!
//! `cargo bench -p dlock-postgres --bench scale`

use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::{
        Manager, Pool,
        tokio_postgres::{Config, NoTls},
    },
};
use dlock_proof::scale::Scale;
use dlock_test_servers::postgres::postgres;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = postgres(&[]).await?;
    let mut config = Config::new();
    config
        .host("127.0.0.1")
        .port(server.place().port())
        .user("postgres");
    let pool = Pool::builder(Manager::new(config, NoTls))
        .max_size(8)
        .build()?;
    let provider = PostgresProvider::builder().pool(pool).build()?;
    provider.create_schema().await?;
    println!("{}", Scale::new(provider).run().await?);
    Ok(())
}
