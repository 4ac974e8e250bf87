//! Objects in a bucket of S3, or of a service that speaks its protocol, or in a container of Azure.

use std::sync::Arc;

use async_trait::async_trait;
use dlock::{
    FencingToken, Provider, Stale,
    object_store::{
        ObjectProvider, Objects,
        fence::{self, Fence, FenceError},
    },
};
use object_store::{
    Error, ObjectStore, ObjectStoreExt, RetryConfig, aws::AmazonS3Builder,
    azure::MicrosoftAzureBuilder, path::Path,
};

use super::{Storage, Store};
use crate::Failure;

pub(super) struct Bucket {
    objects: Arc<dyn ObjectStore>,
    prefix: String,
}

impl Bucket {
    /// The bucket that `BUCKET/PREFIX` names. Credentials, region and endpoint come from the environment.
    pub(super) fn new(scheme: &str, place: &str) -> Result<Self, Failure> {
        let (name, prefix) = place.split_once('/').unwrap_or((place, ""));
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
        if name.is_empty() || ![name, prefix].iter().all(|part| part.chars().all(is_name)) {
            return Err(Failure::new(format!(
                "a bucket here is {scheme}BUCKET/PREFIX; credentials and endpoint come from the environment"
            )));
        }
        // The client takes the process's default. If there is one already, that is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        // Locks ask again by themselves, at the pace of their leases.
        let once = RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        };
        let objects: Arc<dyn ObjectStore> = if scheme == "azure://" {
            let builder = MicrosoftAzureBuilder::from_env().with_container_name(name);
            Arc::new(builder.with_retry(once).build()?)
        } else {
            let builder = AmazonS3Builder::from_env().with_bucket_name(name);
            Arc::new(builder.with_retry(once).build()?)
        };
        let prefix = if prefix.is_empty() { "dlock" } else { prefix };
        Ok(Self {
            objects,
            prefix: prefix.to_owned(),
        })
    }

    fn objects(&self) -> Objects {
        Objects::new(Arc::clone(&self.objects)).sent_once()
    }
}

#[async_trait]
impl Store for Bucket {
    async fn provider(&self) -> Result<Arc<dyn Provider>, Failure> {
        // Where it is installed, an application asks once whether the bucket can carry locks: `Objects::verify`. That
        // takes some seconds.
        let provider = ObjectProvider::new(self.objects()).with_prefix(&self.prefix)?;
        Ok(Arc::new(provider))
    }

    async fn storage(&self, page: &str) -> Result<Box<dyn Storage>, Failure> {
        Ok(Box::new(Pages {
            objects: Arc::clone(&self.objects),
            fence: Fence::new(self.objects()),
            path: Path::from(format!("{}-pages/{page}", self.prefix)),
        }))
    }
}

struct Pages {
    objects: Arc<dyn ObjectStore>,
    fence: Fence,
    path: Path,
}

#[async_trait]
impl Storage for Pages {
    async fn write(&self, token: FencingToken, text: &str) -> Result<Result<(), Stale>, Failure> {
        match self.fence.put(&self.path, token, text.to_owned()).await {
            Ok(()) => Ok(Ok(())),
            Err(FenceError::Stale(stale)) => Ok(Err(stale)),
            Err(other) => Err(other.into()),
        }
    }

    async fn read(&self) -> Result<Option<String>, Failure> {
        let object = match self.objects.get(&self.path).await {
            Ok(found) => found.bytes().await?,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(other) => return Err(other.into()),
        };
        let (_, text) = fence::split(&object)
            .ok_or_else(|| Failure::new("the page was not written through a fence"))?;
        Ok(Some(String::from_utf8(text.to_vec())?))
    }
}
