//! Keys that begin with `dlock` on a Redis server.

use std::sync::Arc;

use async_trait::async_trait;
use dlock::{
    FencingToken, Provider, Stale,
    redis::{
        RedisProvider,
        fence::{Fence, FenceError},
        redis::{AsyncCommands, Client, aio::MultiplexedConnection},
    },
};

use super::{Storage, Store};
use crate::Failure;

pub(super) struct Redis {
    client: Client,
}

impl Redis {
    pub(super) fn new(url: &str) -> Result<Self, Failure> {
        Ok(Self {
            client: Client::open(url)?,
        })
    }
}

#[async_trait]
impl Store for Redis {
    async fn provider(&self) -> Result<Arc<dyn Provider>, Failure> {
        let provider = RedisProvider::builder()
            .client(self.client.clone())
            .build()?;
        Ok(Arc::new(provider))
    }

    async fn storage(&self, page: &str) -> Result<Box<dyn Storage>, Failure> {
        Ok(Box::new(Pages {
            connection: self.client.get_multiplexed_async_connection().await?,
            fence: Fence::default(),
            key: format!("dlock-page:{page}"),
        }))
    }
}

struct Pages {
    connection: MultiplexedConnection,
    fence: Fence,
    key: String,
}

#[async_trait]
impl Storage for Pages {
    async fn write(&self, token: FencingToken, text: &str) -> Result<Result<(), Stale>, Failure> {
        let mut connection = self.connection.clone();
        let fields = [("text", text)];
        match self
            .fence
            .hset(&mut connection, &self.key, token, &fields)
            .await
        {
            Ok(()) => Ok(Ok(())),
            Err(FenceError::Stale(stale)) => Ok(Err(stale)),
            Err(other) => Err(other.into()),
        }
    }

    async fn read(&self) -> Result<Option<String>, Failure> {
        let mut connection = self.connection.clone();
        Ok(connection.hget(&self.key, "text").await?)
    }
}
