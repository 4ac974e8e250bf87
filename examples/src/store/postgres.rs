//! Tables for locks, fences and pages in the schema `dlock` of a PostgreSQL database.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock::{
    FencingToken, Provider, Stale,
    postgres::{
        PostgresProvider,
        deadpool_postgres::{
            Manager, Pool,
            tokio_postgres::{Config, NoTls},
        },
        fence::{Fence, FenceError},
    },
};

use super::{Storage, Store};
use crate::Failure;

pub(super) struct Postgres {
    config: Config,
}

impl Postgres {
    pub(super) fn new(url: &str) -> Result<Self, Failure> {
        let mut config: Config = url.parse()?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(3));
        }
        Ok(Self { config })
    }

    fn pool(&self) -> Result<Pool, Failure> {
        let manager = Manager::new(self.config.clone(), NoTls);
        Ok(Pool::builder(manager).max_size(4).build()?)
    }
}

#[async_trait]
impl Store for Postgres {
    async fn provider(&self) -> Result<Arc<dyn Provider>, Failure> {
        let provider = PostgresProvider::builder().pool(self.pool()?).build()?;
        // Applications do this once, where they are installed.
        provider.create_schema().await?;
        Ok(Arc::new(provider))
    }

    async fn storage(&self, page: &str) -> Result<Box<dyn Storage>, Failure> {
        let pool = self.pool()?;
        let client = pool.get().await?;
        let fence = Fence::new("dlock", "fence")?;
        fence.create_schema(&client).await?;
        client
            .batch_execute(
                "CREATE TABLE IF NOT EXISTS dlock.page (name text PRIMARY KEY, text text NOT NULL)",
            )
            .await?;
        Ok(Box::new(Pages {
            pool,
            fence,
            page: page.to_owned(),
        }))
    }
}

struct Pages {
    pool: Pool,
    fence: Fence,
    page: String,
}

#[async_trait]
impl Storage for Pages {
    async fn write(&self, token: FencingToken, text: &str) -> Result<Result<(), Stale>, Failure> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        match self.fence.check(&transaction, &self.page, token).await {
            Ok(()) => {}
            Err(FenceError::Stale(stale)) => return Ok(Err(stale)),
            Err(other) => return Err(other.into()),
        }
        let write = "INSERT INTO dlock.page VALUES ($1, $2)
                     ON CONFLICT (name) DO UPDATE SET text = excluded.text";
        transaction.execute(write, &[&self.page, &text]).await?;
        transaction.commit().await?;
        Ok(Ok(()))
    }

    async fn read(&self) -> Result<Option<String>, Failure> {
        let client = self.pool.get().await?;
        let page = client
            .query_opt("SELECT text FROM dlock.page WHERE name = $1", &[&self.page])
            .await?;
        Ok(page.map(|page| page.try_get(0)).transpose()?)
    }
}
