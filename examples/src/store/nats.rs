//! A bucket of NATS.

use std::sync::Arc;

use async_nats::{
    Client,
    jetstream::{self, stream::LastRawMessageErrorKind},
};
use async_trait::async_trait;
use dlock::{
    FencingToken, Provider, Stale,
    nats::{
        self,
        fence::{Fence, FenceError},
    },
};

use super::{Storage, Store};
use crate::Failure;

pub(super) struct Nats {
    hosts: String,
    bucket: String,
}

impl Nats {
    pub(super) fn new(place: &str) -> Result<Self, Failure> {
        let (hosts, bucket) = place
            .split_once('/')
            .ok_or_else(|| Failure::new("a bucket of NATS is written nats://HOST/BUCKET"))?;
        Ok(Self {
            hosts: format!("nats://{hosts}"),
            bucket: bucket.to_owned(),
        })
    }

    async fn client(&self) -> Result<Client, Failure> {
        Ok(async_nats::connect(&self.hosts).await?)
    }
}

#[async_trait]
impl Store for Nats {
    async fn provider(&self) -> Result<Arc<dyn Provider>, Failure> {
        let provider = nats::provider(self.client().await?, &*self.bucket, "dlock")?;
        provider.store().set_up(1).await?;
        Ok(Arc::new(provider))
    }

    async fn storage(&self, page: &str) -> Result<Box<dyn Storage>, Failure> {
        let client = self.client().await?;
        Ok(Box::new(Pages {
            fence: Fence::new(client.clone(), &*self.bucket),
            client,
            bucket: self.bucket.clone(),
            key: format!("dlock-page.{page}"),
        }))
    }
}

struct Pages {
    client: Client,
    fence: Fence,
    bucket: String,
    key: String,
}

#[async_trait]
impl Storage for Pages {
    async fn write(&self, token: FencingToken, text: &str) -> Result<Result<(), Stale>, Failure> {
        match self.fence.put(&self.key, token, text).await {
            Ok(_) => Ok(Ok(())),
            Err(FenceError::Stale(stale)) => Ok(Err(stale)),
            Err(other) => Err(other.into()),
        }
    }

    async fn read(&self) -> Result<Option<String>, Failure> {
        let Self { bucket, key, .. } = self;
        let jetstream = jetstream::new(self.client.clone());
        let stream = jetstream.get_stream_no_info(format!("KV_{bucket}")).await?;
        let subject = format!("$KV.{bucket}.{key}");
        match stream.get_last_raw_message_by_subject(&subject).await {
            Ok(found) => Ok(Some(String::from_utf8(found.payload.to_vec())?)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
