//! `s3://BUCKET/PREFIX` and `azure://CONTAINER/PREFIX`: a bucket of S3 or of a service that speaks its protocol, a
//! container of Azure. Credentials, and settings that the URL leaves open, come from the environment.

use std::{error::Error as StdError, ffi::OsStr, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{Name, Provider, ProviderError};
use dlock_object_store::{ObjectProvider, Objects};
use object_store::{
    ClientConfigKey, ObjectStore, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    azure::{AzureConfigKey, MicrosoftAzureBuilder},
    prefix::PrefixStore,
};
use tokio::time::timeout;

use super::{
    Backend,
    query::{self, Query, decoded},
    state, tls,
};
use crate::{
    Encryption, ObservationFolder, Program, Store, StoreError,
    diagnosis::Diagnosis,
    tables::{Tables, TablesError},
    text::harmless,
};

/// How long the service may take to answer until it counts as silent.
const PATIENCE: Duration = Duration::from_secs(10);

/// The prefix of locks if the URL names no folder.
const PREFIX: &str = "dlock";

/// The service that has the bucket, and how to find it.
enum Service {
    S3 { region: Option<String> },
    Azure { account: Option<String> },
}

/// A bucket, and a folder in it.
struct Bucket {
    service: Service,
    name: String,
    endpoint: Option<String>,
    /// One inside of the other; the last one is the prefix.
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

    /// A client of the bucket, and how its connections are protected. Locks repeat calls themselves.
    fn connect(&self) -> object_store::Result<(Arc<dyn ObjectStore>, Option<Encryption>)> {
        // The client takes the process's default.
        drop(tls::cryptography());
        let once = RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        };
        Ok(match &self.service {
            Service::S3 { region } => {
                let builder = self.of_s3(region.as_deref(), AmazonS3Builder::from_env());
                let encryption = encryption_of_s3(&builder);
                (Arc::new(builder.with_retry(once).build()?), encryption)
            }
            Service::Azure { account } => {
                let builder = self.of_azure(account.as_deref(), MicrosoftAzureBuilder::from_env());
                let encryption = encryption_of_azure(&builder);
                (Arc::new(builder.with_retry(once).build()?), encryption)
            }
        })
    }

    /// The URL takes precedence over the environment.
    fn of_s3(&self, region: Option<&str>, environment: AmazonS3Builder) -> AmazonS3Builder {
        let mut builder = environment.with_bucket_name(&self.name);
        if let Some(region) = region {
            builder = builder.with_region(region);
        }
        match &self.endpoint {
            // Its other key, `Endpoint`, comes after an `AWS_ENDPOINT_URL_S3` of the environment.
            Some(endpoint) => builder
                .with_config(AmazonS3ConfigKey::S3Endpoint, endpoint)
                .with_allow_http(is_plain(endpoint)),
            None => builder,
        }
    }

    fn of_azure(
        &self,
        account: Option<&str>,
        environment: MicrosoftAzureBuilder,
    ) -> MicrosoftAzureBuilder {
        let mut builder = environment.with_container_name(&self.name);
        if let Some(account) = account {
            builder = builder.with_account(account);
        }
        match &self.endpoint {
            Some(endpoint) => builder
                .with_endpoint(endpoint.clone())
                .with_allow_http(is_plain(endpoint)),
            None => builder,
        }
    }
}

fn is_plain(endpoint: &str) -> bool {
    endpoint.starts_with("http://")
}

/// The setting that makes a client take any server.
const ANY_CERTIFICATE: ClientConfigKey = ClientConfigKey::AllowInvalidCertificates;

fn encryption_of_s3(builder: &AmazonS3Builder) -> Option<Encryption> {
    let said = |key| builder.get_config_value(&key);
    // In the client's order.
    let endpoint = said(AmazonS3ConfigKey::S3Endpoint);
    let endpoint = endpoint.or_else(|| said(AmazonS3ConfigKey::Endpoint));
    let any_certificate = said(AmazonS3ConfigKey::Client(ANY_CERTIFICATE));
    encryption(endpoint.as_deref(), any_certificate.as_deref())
}

fn encryption_of_azure(builder: &MicrosoftAzureBuilder) -> Option<Encryption> {
    let said = |key| builder.get_config_value(&key);
    if said(AzureConfigKey::UseEmulator).as_deref() == Some("true") {
        // A separate variable has the emulator's address.
        return None;
    }
    let endpoint = said(AzureConfigKey::Endpoint);
    let any_certificate = said(AzureConfigKey::Client(ANY_CERTIFICATE));
    encryption(endpoint.as_deref(), any_certificate.as_deref())
}

/// Over TLS, as the service requires, or as the endpoint's scheme says.
fn encryption(endpoint: Option<&str>, any_certificate: Option<&str>) -> Option<Encryption> {
    let encryption = match endpoint {
        Some(endpoint) => Encryption::of_url(endpoint, "use https:// in its endpoint")?,
        None => Encryption::Checked,
    };
    Some(match encryption {
        Encryption::Checked if any_certificate == Some("true") => Encryption::Unchecked(
            "the environment takes any server: remove its ALLOW_INVALID_CERTIFICATES",
        ),
        other => other,
    })
}

#[async_trait]
impl Backend for Bucket {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        let (bucket, encryption) = self
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
        let seen = state::directory()
            .map(|folder| ObservationFolder::new(folder.join("seen"), self.to_string()));
        Ok(Store {
            provider: Arc::new(provider.clone()),
            seen,
            encryption,
            diagnosis: Diagnosis {
                shown: self.to_string(),
                tables: Some(Arc::new(Conditions {
                    provider,
                    any: Name::new("setup").map_err(|error| self.unusable().because(error))?,
                    prefix: prefix.to_owned(),
                })),
                if_silent: "are endpoint and region right, and can this machine reach it? try again later",
                is_refusal,
                probe: None,
                set_up: program.set_up,
            },
        })
    }
}

/// The conditional writes of a service, which may be missing.
struct Conditions {
    provider: ObjectProvider,
    /// The name of any lock.
    any: Name,
    prefix: String,
}

#[async_trait]
impl Tables for Conditions {
    /// Makes nothing: it tests them.
    async fn make(&self) -> Result<(), TablesError> {
        // A silent service would cost the limit of each of many calls.
        let silent = || ProviderError::unknown(format!("no answer within {PATIENCE:?}"));
        let answer = timeout(PATIENCE, self.provider.read(&self.any)).await;
        let answer = answer.unwrap_or_else(|_| Err(silent()));
        answer.map_err(TablesError::Store)?;
        let verdict = self.provider.store().verify(&self.prefix).await;
        verdict.map_err(TablesError::Store)
    }

    /// The test takes many writes, so only `make` runs it.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(endpoint: Option<&str>) -> Bucket {
        Bucket {
            service: Service::S3 { region: None },
            name: "locks".to_owned(),
            endpoint: endpoint.map(str::to_owned),
            folders: vec![PREFIX.to_owned()],
        }
    }

    #[test]
    fn endpoint_of_the_url_goes_before_those_of_the_environment() {
        let environment = || {
            AmazonS3Builder::new()
                .with_config(AmazonS3ConfigKey::S3Endpoint, "http://a.example")
                .with_config(AmazonS3ConfigKey::Endpoint, "http://b.example")
        };
        let said = bucket(Some("https://c.example")).of_s3(None, environment());
        assert_eq!(encryption_of_s3(&said), Some(Encryption::Checked));
        let open = bucket(None).of_s3(None, environment());
        assert!(matches!(encryption_of_s3(&open), Some(Encryption::None(_))));
    }

    #[test]
    fn endpoint_and_environment_tell_how_what_is_said_is_protected() {
        for (endpoint, any_certificate, expected) in [
            (None, None, "Some(Checked)"),
            (None, Some("true"), "Some(Unchecked"),
            (Some("https://s3.example:9000"), None, "Some(Checked)"),
            (Some("http://127.0.0.1:9000/a"), Some("true"), "Some(Local)"),
            (Some("http://s3.example"), None, "Some(None("),
            (Some("s3.example"), None, "None"),
        ] {
            let found = format!("{:?}", encryption(endpoint, any_certificate));
            assert!(found.starts_with(expected), "{endpoint:?}: {found}");
        }
        let azure = MicrosoftAzureBuilder::new();
        assert_eq!(encryption_of_azure(&azure), Some(Encryption::Checked));
        let emulated = azure.with_use_emulator(true);
        assert_eq!(encryption_of_azure(&emulated), None);
    }
}
