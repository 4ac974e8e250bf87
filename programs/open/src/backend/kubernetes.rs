//! `kubernetes://NAMESPACE`: the Leases of a namespace. The cluster and the user come from the places of `kubectl`, or
//! from the account of the pod.

use std::{error::Error as StdError, ffi::OsStr, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
    core::Status,
};

use super::{
    Backend,
    query::{self, Query},
    state, tls,
};
use crate::{
    Encryption, ObservationFolder, Program, Store, StoreError, diagnosis::Diagnosis,
    text::without_credentials,
};

/// How long connecting may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the server may be silent: longer than it is in a watch without changes, whose age it reports once a minute.
const SILENCE: Duration = Duration::from_secs(150);

/// A namespace, and how to reach it.
struct Namespace {
    name: String,
    /// A file, instead of that of `KUBECONFIG` or the user's.
    kubeconfig: Option<String>,
    /// One of its contexts, instead of the current one.
    context: Option<String>,
    prefix: Option<String>,
}

/// Reads `kubernetes://NAMESPACE`.
pub(crate) fn parse(argument: &OsStr) -> Result<Box<dyn Backend>, StoreError> {
    let wrong = StoreError::no_location;
    let url = argument
        .to_str()
        .ok_or_else(|| wrong("a URL is UTF-8, and this is not"))?;
    let Some(rest) = url.strip_prefix("kubernetes://") else {
        return Err(wrong(
            "Leases of Kubernetes are written kubernetes://NAMESPACE",
        ));
    };
    let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
    let name = name.strip_suffix('/').unwrap_or(name);
    let is_letter = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_name = |letter| is_letter(letter) || letter == b'-';
    // A label of DNS (RFC 1123).
    if !(1..=63).contains(&name.len())
        || !name.bytes().all(is_name)
        || name.starts_with('-')
        || name.ends_with('-')
    {
        return Err(wrong(
            "what follows kubernetes:// is no name of a namespace",
        ));
    }
    let mut query = Query::parse(query, &["context", "kubeconfig", "prefix"])?;
    Ok(Box::new(Namespace {
        name: name.to_owned(),
        kubeconfig: query.take("kubeconfig")?,
        context: query.take("context")?,
        prefix: query.take("prefix")?,
    }))
}

impl Namespace {
    fn unusable(&self) -> StoreError {
        StoreError::unusable(format!("can't open the store {self}"))
    }

    async fn config(&self) -> Result<Config, Box<dyn StdError + Send + Sync>> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        Ok(match &self.kubeconfig {
            Some(file) => {
                Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &options).await?
            }
            None if self.context.is_some() => Config::from_kubeconfig(&options).await?,
            // Within a pod by the pod's account, too.
            None => Config::infer().await?,
        })
    }
}

#[async_trait]
impl Backend for Namespace {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        // The driver takes the process's default.
        drop(tls::cryptography());
        let found = self.config().await;
        let mut config = found.map_err(|error| self.unusable().because(error))?;
        config.default_retry = false;
        config.connect_timeout = Some(PATIENCE);
        config.read_timeout = Some(SILENCE);
        config.reset_reader_on_write = true;
        let cluster = without_credentials(&config.cluster_url.to_string());
        let encryption = encryption(&config);
        let client = Client::try_from(config).map_err(|error| self.unusable().because(error))?;
        let prefix = self.prefix.as_deref().unwrap_or("dlock");
        let provider = dlock_kubernetes::provider(client, &self.name, prefix)
            .map_err(|error| self.unusable().because(error))?;
        let seen = state::directory().map(|folder| {
            // Namespaces of several clusters may have one name.
            let store = format!("kubernetes://{}?prefix={prefix} {cluster}", self.name);
            ObservationFolder::new(folder.join("seen"), store)
        });
        Ok(Store {
            provider: Arc::new(provider),
            seen,
            encryption,
            diagnosis: Diagnosis {
                shown: self.to_string(),
                tables: None,
                if_silent: "is its API server up, and can this machine reach it? try again later",
                is_refusal: |error| error.is::<Status>(),
                probe: None,
                set_up: program.set_up,
            },
        })
    }
}

fn encryption(config: &Config) -> Option<Encryption> {
    let url = config.cluster_url.to_string();
    match Encryption::of_url(&url, "use https:// in the kubeconfig")? {
        Encryption::Checked if config.accept_invalid_certs => Some(Encryption::Unchecked(
            "the kubeconfig takes any server: remove its insecure-skip-tls-verify",
        )),
        other => Some(other),
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            kubeconfig,
            context,
            prefix,
        } = self;
        let set = [
            ("kubeconfig", kubeconfig),
            ("context", context),
            ("prefix", prefix),
        ];
        write!(f, "kubernetes://{name}{}", query::shown(&set))
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Namespace({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubeconfig_tells_how_what_is_said_is_protected() {
        for (url, takes_any, expected) in [
            ("https://api.example:6443", false, "Checked"),
            ("https://api.example:6443", true, "Unchecked("),
            ("http://127.0.0.1:8001", false, "Local"),
            ("http://api.example", false, "None("),
        ] {
            let mut config = Config::new(url.parse().unwrap());
            config.accept_invalid_certs = takes_any;
            let found = format!("{:?}", encryption(&config).unwrap());
            assert!(found.starts_with(expected), "{url}: {found}");
        }
    }
}
