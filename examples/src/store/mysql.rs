//! Tables for locks, fences and pages in a database of MariaDB.

use std::sync::Arc;

use async_trait::async_trait;
use dlock::{
    FencingToken, Provider, Stale,
    mysql::{
        MysqlProvider,
        fence::{Fence, FenceError},
        mysql_async::{Conn, Opts, TxOpts, prelude::Queryable},
    },
};

use super::{Storage, Store};
use crate::Failure;

pub(super) struct Mysql {
    options: Opts,
}

impl Mysql {
    pub(super) fn new(url: &str) -> Result<Self, Failure> {
        Ok(Self {
            options: Opts::from_url(url)?,
        })
    }
}

#[async_trait]
impl Store for Mysql {
    async fn provider(&self) -> Result<Arc<dyn Provider>, Failure> {
        let provider = MysqlProvider::builder()
            .options(self.options.clone())
            .build()?;
        // Applications do this once, where they are installed.
        provider.create_schema().await?;
        Ok(Arc::new(provider))
    }

    async fn storage(&self, page: &str) -> Result<Box<dyn Storage>, Failure> {
        let mut connection = Conn::new(self.options.clone()).await?;
        let fence = Fence::new("dlock_fence")?;
        fence.create_schema(&mut connection).await?;
        connection
            .query_drop(
                "CREATE TABLE IF NOT EXISTS dlock_page \
                 (name VARBINARY(1024) PRIMARY KEY, text TEXT NOT NULL) ENGINE = InnoDB",
            )
            .await?;
        Ok(Box::new(Pages {
            options: self.options.clone(),
            fence,
            page: page.to_owned(),
        }))
    }
}

struct Pages {
    options: Opts,
    fence: Fence,
    page: String,
}

#[async_trait]
impl Storage for Pages {
    async fn write(&self, token: FencingToken, text: &str) -> Result<Result<(), Stale>, Failure> {
        let mut connection = Conn::new(self.options.clone()).await?;
        let mut transaction = connection.start_transaction(TxOpts::new()).await?;
        match self.fence.check(&mut transaction, &self.page, token).await {
            Ok(()) => {}
            Err(FenceError::Stale(stale)) => return Ok(Err(stale)),
            Err(other) => return Err(other.into()),
        }
        let write =
            "INSERT INTO dlock_page VALUES (?, ?) ON DUPLICATE KEY UPDATE text = VALUES(text)";
        transaction.exec_drop(write, (&self.page, text)).await?;
        transaction.commit().await?;
        Ok(Ok(()))
    }

    async fn read(&self) -> Result<Option<String>, Failure> {
        let mut connection = Conn::new(self.options.clone()).await?;
        let page = "SELECT text FROM dlock_page WHERE name = ?";
        Ok(connection.exec_first(page, (&self.page,)).await?)
    }
}
