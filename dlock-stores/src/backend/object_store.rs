//! `s3://BUCKET/PREFIX` and `azure://CONTAINER/PREFIX`: a bucket of S3 or of a service that speaks its protocol, a
//! container of Azure. Credentials, and what the URL leaves open, come from the environment.

use std::{error::Error as StdError, ffi::OsStr, fmt, sync::Arc};

use async_trait::async_trait;
use dlock_core::ProviderError;
use dlock_object_store::{ObjectProvider, Objects};
use object_store::{
    ObjectStore, RetryConfig, aws::AmazonS3Builder, azure::MicrosoftAzureBuilder,
    prefix::PrefixStore,
};

use super::{
    Backend,
    query::{self, Query, decoded},
    state, tls,
};
use crate::{
    Program, Store, StoreError,
    diagnosis::Diagnosis,
    store::Seen,
    tables::{Tables, TablesError},
    text::harmless,
};

/// What locks are set apart by if the URL names no folder.
const PREFIX: &str = "dlock";

/// Who has the bucket, and how it is found.
enum Service {
    S3 { region: Option<String> },
    Azure { account: Option<String> },
}

/// A bucket, and a folder in it.
struct Bucket {
    service: Service,
    name: String,
    endpoint: Option<String>,
    /// One after the other; the last one is the prefix.
    folders: Vec<String>,
}

/// Reads `s3://..` or `azure://..`.
pub(crate) fn parse(argument: &OsStr) -> Result<Box<dyn Backend>, StoreError> {
    let wrong = StoreError::no_location;
    let url = argument
        .to_str()
        .ok_or_else(|| wrong("a URL is UTF-8, and this is not"))?;
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(wrong(
            "a bucket is written s3://BUCKET/PREFIX or azure://CONTAINER/PREFIX",
        ));
    };
    if rest.contains('#') {
        return Err(wrong("nothing may follow a # in its URL"));
    }
    let is_s3 = scheme == "s3";
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let own = if is_s3 { "region" } else { "account" };
    let mut query = Query::parse(query, &["endpoint", own])?;
    let endpoint = query.take("endpoint")?;
    let is_clear = |url: &String| {
        let host = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"));
        host.is_some_and(|host| !host.is_empty() && !host.contains(['@', '?', '#']))
    };
    if !endpoint.as_ref().is_none_or(is_clear) {
        return Err(wrong(
            "an endpoint is written https://HOST or http://HOST, without a user: credentials come from the environment",
        ));
    }
    let own = query.take(own)?;
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(wrong(
            "what follows the scheme is the name of a bucket, and its credentials come from the environment",
        ));
    }
    let path = path.strip_suffix('/').unwrap_or(path);
    let folders = path.split('/').map(decoded);
    let folders: Vec<String> = folders.collect::<Result<_, _>>()?;
    let folders = match &folders[..] {
        [only] if only.is_empty() => vec![PREFIX.to_owned()],
        _ if folders.iter().any(String::is_empty) => {
            return Err(wrong("a folder of its bucket has no name"));
        }
        _ => folders,
    };
    Ok(Box::new(Bucket {
        service: if is_s3 {
            Service::S3 { region: own }
        } else {
            Service::Azure { account: own }
        },
        name: name.to_owned(),
        endpoint,
        folders,
    }))
}

impl Bucket {
    fn unusable(&self) -> StoreError {
        StoreError::unusable(format!("can't open the store {self}"))
    }

    /// A client of the bucket. Locks make calls again by themselves.
    fn connect(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        // The client takes the process's default.
        drop(tls::cryptography());
        let once = RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        };
        let endpoint = self.endpoint.clone();
        let is_plain = |url: &String| url.starts_with("http://");
        let is_plain = endpoint.as_ref().is_some_and(is_plain);
        Ok(match &self.service {
            Service::S3 { region } => {
                let mut builder = AmazonS3Builder::from_env().with_bucket_name(&self.name);
                if let Some(region) = region {
                    builder = builder.with_region(region);
                }
                if let Some(endpoint) = endpoint {
                    builder = builder.with_endpoint(endpoint).with_allow_http(is_plain);
                }
                Arc::new(builder.with_retry(once).build()?)
            }
            Service::Azure { account } => {
                let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(&self.name);
                if let Some(account) = account {
                    builder = builder.with_account(account);
                }
                if let Some(endpoint) = endpoint {
                    builder = builder.with_endpoint(endpoint).with_allow_http(is_plain);
                }
                Arc::new(builder.with_retry(once).build()?)
            }
        })
    }
}

#[async_trait]
impl Backend for Bucket {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        let bucket = self
            .connect()
            .map_err(|error| self.unusable().because(error))?;
        let (prefix, folders) = self
            .folders
            .split_last()
            .map_or((PREFIX, &[][..]), |(last, before)| (last, before));
        let bucket: Arc<dyn ObjectStore> = if folders.is_empty() {
            bucket
        } else {
            let folder = folders
                .iter()
                .map(String::as_str)
                .collect::<object_store::path::Path>();
            Arc::new(PrefixStore::new(bucket, folder))
        };
        let provider = ObjectProvider::new(Objects::new(bucket).sent_once())
            .with_prefix(prefix)
            .map_err(|error| self.unusable().because(error))?;
        let seen = state::directory().map(|folder| Seen {
            folder: folder.join("seen"),
            store: self.to_string(),
        });
        Ok(Store {
            provider: Arc::new(provider.clone()),
            seen,
            diagnosis: Diagnosis {
                shown: self.to_string(),
                tables: Some(Arc::new(Conditions {
                    objects: provider.store().clone(),
                    prefix: prefix.to_owned(),
                })),
                if_silent: "are endpoint and region right, and can this machine reach it? try again later",
                is_refusal,
                set_up: program.set_up,
            },
        })
    }
}

/// The conditional writes of a service, which are there or not.
struct Conditions {
    objects: Objects,
    prefix: String,
}

#[async_trait]
impl Tables for Conditions {
    /// Makes nothing: it tries them.
    async fn make(&self) -> Result<(), TablesError> {
        let verdict: Result<(), ProviderError> = self.objects.verify(&self.prefix).await;
        verdict.map_err(TablesError::Store)
    }

    /// That it takes many writes, so it is asked of `make` only.
    async fn check(&self) -> Result<(), TablesError> {
        Ok(())
    }
}

/// Only a service that has answered has a status.
fn is_refusal(error: &(dyn StdError + 'static)) -> bool {
    error
        .downcast_ref::<object_store::Error>()
        .is_some_and(|error| error.to_string().contains("status code: "))
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            service,
            name,
            endpoint,
            folders,
        } = self;
        let (scheme, own, value) = match service {
            Service::S3 { region } => ("s3", "region", region),
            Service::Azure { account } => ("azure", "account", account),
        };
        write!(f, "{scheme}://{name}/{}", harmless(&folders.join("/")))?;
        f.write_str(&query::shown(&[("endpoint", endpoint), (own, value)]))
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({self})")
    }
}
