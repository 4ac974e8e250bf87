//! `nats://HOST/BUCKET` and, over TLS, `natss://HOST/BUCKET`: a bucket of NATS, on one server or a cluster.

use std::{error::Error as StdError, ffi::OsStr, fmt, sync::Arc, time::Duration};

use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, jetstream};
use async_trait::async_trait;
use dlock_nats::{BucketError, CasProvider, NatsProvider, NatsStore, Refusals};

use super::{
    Backend,
    identity::Files,
    query::{self, Query, decoded},
    state, tls,
    url::{MEMBERS, UNCLEAR, bracketed, has_clear_credentials, members},
};
use crate::{
    Encryption, ObservationFolder, Program, Store, StoreError,
    diagnosis::Diagnosis,
    encryption::is_loopback,
    tables::{Tables, TablesError},
    text::harmless,
};

/// The port on which NATS listens for clients.
const PORT: u16 = 4222;

/// The interval of pings on a silent connection; after the third without an answer it counts as broken.
const ALIVE: Duration = Duration::from_secs(2);

/// How long connecting to one server may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A bucket, and the prefix of its locks.
struct Bucket {
    over_tls: bool,
    /// `HOST:PORT`.
    hosts: Vec<String>,
    login: Login,
    name: String,
    certificate: Option<Files>,
    prefix: Option<String>,
    /// How many servers keep a bucket that this makes.
    replicas: usize,
}

enum Login {
    Nobody,
    User {
        name: String,
        password: String,
    },
    Token(String),
    /// A file that the tools of NATS make.
    Credentials(String),
}

/// Reads `nats://..` or `natss://..`.
pub(crate) fn parse(argument: &OsStr) -> Result<Box<dyn Backend>, StoreError> {
    let wrong = StoreError::no_location;
    let url = argument
        .to_str()
        .ok_or_else(|| wrong("a URL is UTF-8, and this is not"))?;
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(wrong("a bucket of NATS is written nats://HOST/BUCKET"));
    };
    if !has_clear_credentials(url) {
        return Err(wrong(UNCLEAR));
    }
    if rest.contains('#') {
        return Err(wrong("nothing may follow a # in its URL"));
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let known = ["creds", "prefix", "replicas", "sslcert", "sslkey"];
    let mut query = Query::parse(query, &known)?;
    let (login, rest) = match rest.split_once('@') {
        None => (None, rest),
        Some((login, rest)) => (Some(login), rest),
    };
    let login = match (login, query.take("creds")?) {
        (None, None) => Login::Nobody,
        (None, Some(file)) => Login::Credentials(file),
        (Some(_), Some(_)) => {
            return Err(wrong("it has a user or token, or a file of credentials"));
        }
        (Some(login), None) => match login.split_once(':') {
            Some((name, password)) => Login::User {
                name: decoded(name)?,
                password: decoded(password)?,
            },
            None => Login::Token(decoded(login)?),
        },
    };
    let (hosts, name) = rest.split_once('/').unwrap_or((rest, ""));
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if name.is_empty() || name.len() > 128 || !name.chars().all(is_name) {
        return Err(wrong(
            "what follows the host is the name of a bucket, of letters, digits, - and _",
        ));
    }
    let hosts = members(hosts, PORT).ok_or_else(|| wrong(MEMBERS))?;
    let hosts = hosts.into_iter();
    let certificate = Files::take(&mut query)?;
    let replicas = match query.take("replicas")?.as_deref() {
        None | Some("1") => 1,
        Some("3") => 3,
        Some("5") => 5,
        Some(_) => return Err(wrong("replicas is 1, 3 or 5")),
    };
    Ok(Box::new(Bucket {
        over_tls: scheme == "natss",
        hosts: hosts
            .map(|(host, port)| format!("{}:{port}", bracketed(&host)))
            .collect(),
        login,
        name: name.to_owned(),
        certificate,
        prefix: query.take("prefix")?,
        replicas,
    }))
}

impl Bucket {
    fn unusable(&self) -> StoreError {
        StoreError::unusable(format!("can't open the store {self}"))
    }

    async fn options(&self, refusals: &Refusals) -> Result<ConnectOptions, StoreError> {
        // The driver takes the process's default.
        drop(tls::cryptography());
        let refusals = refusals.clone();
        let mut options = ConnectOptions::new()
            .connection_timeout(PATIENCE)
            .ping_interval(ALIVE)
            .require_tls(self.over_tls)
            .event_callback(move |event| {
                refusals.note(&event);
                async {}
            });
        if let Some(files) = &self.certificate {
            let (certificate, key) = files.paths()?;
            options = options.add_client_certificate(certificate, key);
        }
        match &self.login {
            Login::Nobody => Ok(options),
            Login::User { name, password } => {
                Ok(options.user_and_password(name.clone(), password.clone()))
            }
            Login::Token(token) => Ok(options.token(token.clone())),
            Login::Credentials(file) => options.credentials_file(file).await.map_err(|error| {
                self.unusable()
                    .because(error)
                    .advise("is creds a file of credentials that this user may read?")
            }),
        }
    }

    /// A client, also of a server that is down: it keeps trying.
    async fn connect(&self, refusals: &Refusals) -> Result<Client, StoreError> {
        let hosts = || -> Vec<String> {
            let hosts = self.hosts.iter();
            hosts.map(|host| format!("nats://{host}")).collect()
        };
        let error = match self.options(refusals).await?.connect(hosts()).await {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        if let Some(advice) = tls::advice(&error) {
            return Err(self.unusable().because(error).advise(advice));
        }
        if !may_be_down(&error) {
            return Err(self.unusable().because(error));
        }
        let options = self.options(refusals).await?.retry_on_initial_connect();
        let connected = options.connect(hosts()).await;
        connected.map_err(|error| self.unusable().because(error))
    }
}

fn may_be_down(error: &ConnectError) -> bool {
    matches!(
        error.kind(),
        ConnectErrorKind::Dns | ConnectErrorKind::Io | ConnectErrorKind::TimedOut
    )
}

#[async_trait]
impl Backend for Bucket {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        let refusals = Refusals::default();
        let client = self.connect(&refusals).await?;
        let store = NatsStore::new(client, &*self.name).refusals(refusals);
        let provider = CasProvider::new(store)
            .with_prefix(self.prefix.as_deref().unwrap_or("dlock"))
            .map_err(|error| self.unusable().because(error))?;
        let seen = state::directory()
            .map(|folder| ObservationFolder::new(folder.join("seen"), self.to_string()));
        let made = Made {
            provider: provider.clone(),
            replicas: self.replicas,
        };
        Ok(Store {
            provider: Arc::new(provider),
            seen,
            encryption: self.encryption(),
            diagnosis: Diagnosis {
                shown: self.to_string(),
                tables: Some(Arc::new(made)),
                if_silent: "is the server up, with JetStream, and can this machine reach it? try again later",
                is_refusal,
                probe: None,
                set_up: program.set_up,
            },
        })
    }

    fn encryption(&self) -> Option<Encryption> {
        let is_local = |host: &String| {
            let (name, _) = host.rsplit_once(':').unwrap_or((host, ""));
            is_loopback(name)
        };
        Some(if self.over_tls {
            Encryption::Checked
        } else if self.hosts.iter().all(is_local) {
            Encryption::Local
        } else {
            Encryption::Unchecked(
                "nats:// continues without TLS where the server does not require it: use natss://",
            )
        })
    }
}

/// The bucket as `dlock setup` makes it.
struct Made {
    provider: NatsProvider,
    replicas: usize,
}

#[async_trait]
impl Tables for Made {
    async fn make(&self) -> Result<(), TablesError> {
        let made = self.provider.store().set_up(self.replicas).await;
        made.map_err(lacking)
    }

    async fn check(&self) -> Result<(), TablesError> {
        self.provider.store().verify().await.map_err(lacking)
    }
}

fn lacking(error: BucketError) -> TablesError {
    match error {
        BucketError::Store(error) => TablesError::Store(error),
        BucketError::Missing { bucket } => {
            TablesError::Missing(format!("there is no bucket {bucket:?} in this account"))
        }
        other => TablesError::Wrong(other.to_string()),
    }
}

/// The server's own errors.
fn is_refusal(error: &(dyn StdError + 'static)) -> bool {
    error.is::<jetstream::Error>()
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            over_tls,
            hosts,
            login,
            name,
            certificate: _,
            prefix,
            replicas: _,
        } = self;
        f.write_str(if *over_tls { "natss://" } else { "nats://" })?;
        if let Login::User { name, .. } = login {
            write!(f, "{}@", harmless(name))?;
        }
        write!(f, "{}/{name}", hosts.join(","))?;
        f.write_str(&query::shown(&[("prefix", prefix)]))
    }
}

// Without the password.
impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({self})")
    }
}
