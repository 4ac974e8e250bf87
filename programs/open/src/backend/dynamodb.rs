//! `dynamodb:TABLE`: one table. Region, credentials and endpoint come from the usual places of AWS: the environment,
//! `~/.aws`, the machine's or the container's role.

mod credentials;

use std::{error::Error as StdError, ffi::OsStr, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use aws_config::{BehaviorVersion, ConfigLoader, SdkConfig, identity::IdentityCache};
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::{
    Client,
    config::Builder,
    operation::{
        get_item::GetItemError, query::QueryError, scan::ScanError, update_item::UpdateItemError,
    },
};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_types::service_config::ServiceConfigKey;
use dlock_dynamodb::{DynamodbProvider, TableError};

use self::credentials::Followed;
use super::{
    Backend,
    query::{self, Query},
    state,
};
use crate::{
    Encryption, ObservationFolder, Program, Store, StoreError,
    diagnosis::Diagnosis,
    tables::{Tables, TablesError},
    text::without_credentials,
};

/// How long the search for a region and for credentials may take: it may end with a query of the machine.
const PATIENCE: Duration = Duration::from_secs(15);

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Table {
    name: String,
    partition_key: Option<String>,
    sort_key: Option<String>,
    prefix: Option<String>,
    /// From the user's settings, instead of the one in `AWS_PROFILE`.
    profile: Option<String>,
}

/// Reads `dynamodb:TABLE`.
pub(crate) fn parse(argument: &OsStr) -> Result<Box<dyn Backend>, StoreError> {
    let text = argument
        .to_str()
        .ok_or_else(|| StoreError::no_location("a table's name is UTF-8, and this is not"))?;
    let text = text.strip_prefix("dynamodb:").unwrap_or(text);
    let (name, query) = text.split_once('?').unwrap_or((text, ""));
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_.-:/".contains(letter);
    if name.is_empty() || name.starts_with('/') || !name.chars().all(is_name) {
        return Err(StoreError::no_location(
            "what follows dynamodb: is no name of a table, and no ARN of one",
        ));
    }
    let mut query = Query::parse(query, &["partition_key", "sort_key", "prefix", "profile"])?;
    let table = Table {
        name: name.to_owned(),
        partition_key: query.take("partition_key")?,
        sort_key: query.take("sort_key")?,
        prefix: query.take("prefix")?,
        profile: query.take("profile")?,
    };
    if table.sort_key.is_some() && table.prefix.is_none() {
        return Err(StoreError::no_location(
            "in a table with a sort key the partition key's value is the prefix: add prefix=..",
        ));
    }
    Ok(Box::new(table))
}

impl Table {
    fn unusable(&self) -> StoreError {
        StoreError::unusable(format!("can't open the store {self}"))
    }

    /// Reads this process's surroundings anew.
    fn loader(&self) -> ConfigLoader {
        let http = aws_smithy_http_client::Builder::new()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .build_https();
        let config = aws_config::defaults(BehaviorVersion::latest()).http_client(http);
        match &self.profile {
            Some(profile) => config.profile_name(profile),
            None => config,
        }
    }

    /// The settings for AWS in this process's surroundings, with credentials at hand.
    async fn surroundings(&self) -> Result<(SdkConfig, Followed), StoreError> {
        let config = self.loader().load().await;
        let Some(region) = config.region().cloned() else {
            return Err(self
                .unusable()
                .because("no AWS region is set")
                .advise("set AWS_REGION, or a region in ~/.aws/config"));
        };
        let table = self.clone();
        let load = move || table.loader().region(region.clone());
        match Followed::new(load).await {
            Ok(credentials) => Ok((config, credentials)),
            Err(
                error @ (CredentialsError::CredentialsNotLoaded(_)
                | CredentialsError::InvalidConfiguration(_)),
            ) => Err(self.unusable().because(error).advise(
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role",
            )),
            Err(error) => Err(StoreError::unreachable(format!(
                "no AWS credentials could be fetched for the store {self}"
            ))
            .because(error)
            .advise("where the profile is for people (`sso_session`), log in with: aws sso login")),
        }
    }
}

impl Table {
    /// A name that distinguishes this store from others, by its endpoint too, since tables of several may have one
    /// name.
    fn seen(&self, config: &SdkConfig) -> Option<ObservationFolder> {
        let region = config.region().map_or("", |region| region.as_ref());
        let endpoint = without_credentials(config.endpoint_url().unwrap_or_default());
        let store = format!("{self} {region} {endpoint}");
        Some(ObservationFolder::new(
            state::directory()?.join("seen"),
            store,
        ))
    }
}

#[async_trait]
impl Backend for Table {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        let Self {
            name,
            partition_key,
            sort_key,
            prefix,
            profile: _,
        } = self.clone();
        let found = tokio::time::timeout(PATIENCE, self.surroundings()).await;
        let (config, credentials) = found.map_err(|_| {
            StoreError::unreachable(format!(
                "no AWS region and credentials were found for the store {self} within {PATIENCE:?}"
            ))
        })??;
        let client = Client::from_conf(
            Builder::from(&config)
                .credentials_provider(credentials)
                // They are cached there already, and requested for each call.
                .identity_cache(IdentityCache::no_cache())
                .build(),
        );
        let provider = DynamodbProvider::builder()
            .client(client)
            .table_name(name)
            .prefix(prefix.unwrap_or_default())
            .partition_key(partition_key.unwrap_or_else(|| "name".to_owned()))
            .sort_key_opt(sort_key)
            .build()
            .map_err(|error| self.unusable().because(error))?;
        Ok(Store {
            provider: Arc::new(provider.clone()),
            seen: self.seen(&config),
            encryption: encryption(&config),
            diagnosis: Diagnosis {
                shown: self.to_string(),
                tables: Some(Arc::new(provider)),
                if_silent: "can this machine reach DynamoDB, and is AWS_ENDPOINT_URL right if it is set? try again later",
                is_refusal,
                probe: None,
                set_up: program.set_up,
            },
        })
    }
}

/// How the traffic with the service is protected: as AWS does it, or by the form of the endpoint that replaces it.
fn encryption(config: &SdkConfig) -> Option<Encryption> {
    // The endpoint of this service takes precedence over that of all services, as in the client.
    let key = ServiceConfigKey::builder()
        .service_id("DynamoDB")
        .env("AWS_ENDPOINT_URL")
        .profile("endpoint_url")
        .build()
        .ok()?;
    let own = config
        .service_config()
        .and_then(|service| service.load_config(key));
    match own.as_deref().or(config.endpoint_url()) {
        Some(endpoint) => Encryption::of_url(endpoint, "use https:// in its endpoint"),
        None => Some(Encryption::Checked),
    }
}

#[async_trait]
impl Tables for DynamodbProvider {
    async fn make(&self) -> Result<(), TablesError> {
        self.create_table().await.map_err(lacking)
    }

    async fn check(&self) -> Result<(), TablesError> {
        self.verify_table().await.map_err(lacking)
    }
}

fn lacking(error: TableError) -> TablesError {
    match error {
        TableError::Store(error) => TablesError::Store(error),
        TableError::Missing { table } => TablesError::Missing(format!(
            "there is no table {table:?} in this account and region"
        )),
        TableError::Key {
            table,
            expected,
            found,
        } => TablesError::Wrong(format!(
            "the table {table:?} has the key {found}, and not {expected}: name it with partition_key=.. and sort_key=.., or choose another table"
        )),
        other => TablesError::Wrong(other.to_string()),
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            partition_key,
            sort_key,
            prefix,
            profile,
        } = self;
        write!(f, "dynamodb:{name}")?;
        f.write_str(&query::shown(&[
            ("partition_key", partition_key),
            ("sort_key", sort_key),
            ("prefix", prefix),
            ("profile", profile),
        ]))
    }
}

/// The service's own errors have the type of the operation; others only wrap the cause.
fn is_refusal(error: &(dyn StdError + 'static)) -> bool {
    error.is::<UpdateItemError>()
        || error.is::<GetItemError>()
        || error.is::<QueryError>()
        || error.is::<ScanError>()
}

#[cfg(test)]
mod tests {
    use aws_types::service_config::LoadServiceConfig;

    use super::*;

    /// An endpoint of this service, in addition to that of all services.
    #[derive(Debug)]
    struct Own(&'static str);

    impl LoadServiceConfig for Own {
        fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
            let asked = (key.service_id(), key.env(), key.profile());
            assert_eq!(asked, ("DynamoDB", "AWS_ENDPOINT_URL", "endpoint_url"));
            Some(self.0.to_owned())
        }
    }

    #[test]
    fn endpoint_tells_how_what_is_said_is_protected() {
        let of_all = |url: &str| SdkConfig::builder().endpoint_url(url);
        for (config, expected) in [
            (SdkConfig::builder(), "Checked"),
            (of_all("https://db.example"), "Checked"),
            (of_all("http://db.example:8000"), "None("),
            (of_all("http://localhost:8000/"), "Local"),
            (of_all("http://[::1]"), "Local"),
            (
                of_all("https://db.example").service_config(Own("http://u@db.example:8000")),
                "None(",
            ),
            (
                of_all("http://db.example").service_config(Own("http://[::1]:8000")),
                "Local",
            ),
        ] {
            let found = format!("{:?}", encryption(&config.build()).unwrap());
            assert!(found.starts_with(expected), "{expected}: {found}");
        }
    }
}
