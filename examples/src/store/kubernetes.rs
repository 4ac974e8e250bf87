//! Leases and `ConfigMap`s in a namespace of Kubernetes.

use std::sync::Arc;

use async_trait::async_trait;
use dlock::{
    FencingToken, Provider, Stale,
    kubernetes::fence::{Fence, FenceError},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Config, Error, api::PostParams};

use super::{Storage, Store};
use crate::Failure;

/// The key of a `ConfigMap` that has its text.
const TEXT: &str = "text";

pub(super) struct Kubernetes {
    namespace: String,
}

impl Kubernetes {
    pub(super) fn new(namespace: &str) -> Result<Self, Failure> {
        let namespace = namespace.trim_end_matches('/');
        // It goes into paths of requests as it is.
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if namespace.is_empty() || !namespace.chars().all(is_name) {
            return Err(Failure::new(
                "Kubernetes here is kubernetes://NAMESPACE; the cluster and its user come from where kubectl has them",
            ));
        }
        Ok(Self {
            namespace: namespace.to_owned(),
        })
    }

    /// A client of the cluster that `kubectl` would ask, or of the pod's own.
    async fn client(&self) -> Result<Client, Failure> {
        let mut config = Config::infer().await?;
        // Locks ask again by themselves, at the pace of their leases.
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }
}

#[async_trait]
impl Store for Kubernetes {
    async fn provider(&self) -> Result<Arc<dyn Provider>, Failure> {
        let client = self.client().await?;
        let provider = dlock::kubernetes::provider(client, &self.namespace, "dlock")?;
        Ok(Arc::new(provider))
    }

    async fn storage(&self, page: &str) -> Result<Box<dyn Storage>, Failure> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client().await?, &self.namespace);
        let name = format!("dlock-page-{page}");
        let mut empty = ConfigMap::default();
        empty.metadata.name = Some(name.clone());
        match maps.create(&PostParams::default(), &empty).await {
            Ok(_) => {}
            // It is there already.
            Err(Error::Api(status)) if status.code == 409 => {}
            Err(other) => return Err(other.into()),
        }
        Ok(Box::new(Pages {
            maps,
            fence: Fence::default(),
            name,
        }))
    }
}

struct Pages {
    maps: Api<ConfigMap>,
    fence: Fence,
    name: String,
}

#[async_trait]
impl Storage for Pages {
    async fn write(&self, token: FencingToken, text: &str) -> Result<Result<(), Stale>, Failure> {
        let write = |map: &mut ConfigMap| {
            let data = map.data.get_or_insert_default();
            data.insert(TEXT.into(), text.into());
        };
        match self
            .fence
            .update(&self.maps, &self.name, token, write)
            .await
        {
            Ok(_) => Ok(Ok(())),
            Err(FenceError::Stale(stale)) => Ok(Err(stale)),
            Err(other) => Err(other.into()),
        }
    }

    async fn read(&self) -> Result<Option<String>, Failure> {
        let data = self.maps.get(&self.name).await?.data;
        Ok(data.and_then(|mut data| data.remove(TEXT)))
    }
}
