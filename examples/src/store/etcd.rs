//! Keys that begin with `dlock` in an etcd.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock::{
    FencingToken, Provider, Stale,
    etcd::fence::{Fence, FenceError},
};
use etcd_client::{Client, ConnectOptions, TxnOp};

use super::{Storage, Store};
use crate::Failure;

pub(super) struct Etcd {
    members: Vec<String>,
}

impl Etcd {
    /// The members at `HOST:PORT`, joined by commas.
    pub(super) fn new(hosts: &str) -> Result<Self, Failure> {
        // There may be a password in it.
        if hosts.contains('@') {
            return Err(Failure::new(
                "an etcd here is etcd://HOST:PORT, without a user",
            ));
        }
        let hosts = hosts.trim_end_matches('/').split(',');
        Ok(Self {
            members: hosts.map(|host| format!("http://{host}")).collect(),
        })
    }

    async fn client(&self) -> Result<Client, Failure> {
        // A connection that dies without a word is noticed by its pings, and by nothing else.
        let options = ConnectOptions::new()
            .with_connect_timeout(Duration::from_secs(5))
            .with_timeout(Duration::from_secs(5))
            .with_keep_alive(Duration::from_secs(5), Duration::from_secs(2))
            .with_keep_alive_while_idle(false);
        Ok(Client::connect(&self.members, Some(options)).await?)
    }
}

#[async_trait]
impl Store for Etcd {
    async fn provider(&self) -> Result<Arc<dyn Provider>, Failure> {
        let provider = dlock::etcd::provider(self.client().await?, "dlock")?;
        Ok(Arc::new(provider))
    }

    async fn storage(&self, page: &str) -> Result<Box<dyn Storage>, Failure> {
        Ok(Box::new(Pages {
            client: self.client().await?,
            fence: Fence::default(),
            page: page.to_owned(),
        }))
    }
}

struct Pages {
    client: Client,
    fence: Fence,
    page: String,
}

impl Pages {
    fn key(&self) -> String {
        format!("dlock-page/{}", self.page)
    }
}

#[async_trait]
impl Storage for Pages {
    async fn write(&self, token: FencingToken, text: &str) -> Result<Result<(), Stale>, Failure> {
        let write = [TxnOp::put(self.key(), text, None)];
        let fenced = self.fence.transact(&self.client, &self.page, token, write);
        match fenced.await {
            Ok(_) => Ok(Ok(())),
            Err(FenceError::Stale(stale)) => Ok(Err(stale)),
            Err(other) => Err(other.into()),
        }
    }

    async fn read(&self) -> Result<Option<String>, Failure> {
        let found = self.client.kv_client().get(self.key(), None).await?;
        let page = found.kvs().first();
        Ok(page.map(|page| String::from_utf8_lossy(page.value()).into_owned()))
    }
}
