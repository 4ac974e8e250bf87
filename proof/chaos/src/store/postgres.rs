//! PostgreSQL. A killed server recovers from its log, so it loses nothing that it acknowledged.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::Provider;
use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::{
        Manager, Pool,
        tokio_postgres::{Config, NoTls},
    },
};
use dlock_test_servers::postgres::{is_ready, postgres};

use super::{Backend, Store, server::Server};
use crate::cli::Failure;

/// The connections of a worker: as many as its tasks may need at once, and one for renewals.
const POOL: usize = 4;

/// The second setting is the one that the guide recommends: otherwise a connection that falls silent in a transaction
/// would keep the row of a task locked for as long as the run lasts.
const SETTINGS: [&str; 2] = [
    "max_connections=300",
    "idle_in_transaction_session_timeout=5s",
];

pub(super) struct Postgres;

#[async_trait]
impl Backend for Postgres {
    async fn start(&self, _: &Path) -> Result<Box<dyn Store>, Failure> {
        let server = Server {
            service: postgres(&SETTINGS).await?,
            ready: |place| Box::pin(async move { is_ready(&place) }),
            // This stops the process that accepts connections; those that serve them continue.
            cut: Some(|server| Box::pin(cut(server))),
        };
        on(server.address())?.create_schema().await?;
        Ok(Box::new(server))
    }

    async fn connect(&self, place: &str) -> Result<Arc<dyn Provider>, Failure> {
        Ok(Arc::new(on(place.parse()?)?))
    }
}

async fn cut(server: SocketAddr) -> Result<(), Failure> {
    let (client, connection) = config(server).connect(NoTls).await?;
    tokio::spawn(connection);
    let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    client.batch_execute(all).await?;
    Ok(())
}

fn on(server: SocketAddr) -> Result<PostgresProvider, Failure> {
    let manager = Manager::new(config(server), NoTls);
    let pool = Pool::builder(manager).max_size(POOL).build()?;
    let provider = PostgresProvider::builder()
        .pool(pool)
        .listen(config(server), NoTls);
    Ok(provider.build()?)
}

/// The address of the server.
pub(crate) fn config(server: SocketAddr) -> Config {
    let mut config = Config::new();
    config
        .host(server.ip().to_string())
        .port(server.port())
        .user("postgres")
        .dbname("postgres")
        .connect_timeout(Duration::from_secs(3));
    config
}
