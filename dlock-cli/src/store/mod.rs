//! Which store, and opening it. Each kind has a file of its own; this one knows which there are.
//!
//! What is shown of a store, also in errors, never contains a password: a location is shown by its
//! parts, never as it was written, and what can't be read as a location is not repeated at all.

mod diagnosis;
#[cfg(feature = "dynamodb")]
mod dynamodb;
#[cfg(feature = "postgres")]
mod pgpass;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(
    feature = "dynamodb",
    feature = "postgres",
    feature = "redis",
    feature = "sqlite"
))]
mod query;
mod queue;
pub(crate) mod queues;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(any(feature = "dynamodb", feature = "sqlite"))]
mod state;
mod tables;
#[cfg(any(feature = "dynamodb", feature = "postgres", feature = "redis"))]
mod tls;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod url;

use std::{ffi::OsStr, fmt, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use dlock_core::{
    Client, Error, ProviderError,
    provider::{Admin, Discipline},
};

use self::diagnosis::Diagnosis;
pub(crate) use self::queue::Queue;
use crate::exit::{Exit, Failure};

/// Where locks are, not opened yet. Its `Display` is for people, and has no secret.
#[async_trait]
pub(crate) trait Location: fmt::Display + fmt::Debug + Send + Sync {
    /// Opens the store. A server is not asked anything yet.
    async fn open(&self) -> Result<Store, Failure>;

    /// Whether there is something already; always of a server.
    fn exists(&self) -> bool {
        true
    }

    /// Whether nobody asked for this one.
    fn is_default(&self) -> bool {
        false
    }
}

/// An open store.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) provider: Arc<dyn Admin>,
    diagnosis: Diagnosis,
    /// Where what was seen of its locks is kept; `None` if its own clock decides, or there is no place.
    seen: Option<Seen>,
}

/// Where what was seen of the locks of a store is kept for the runs to come.
#[derive(Clone)]
pub(crate) struct Seen {
    folder: PathBuf,
    /// What tells the store from others.
    store: String,
}

/// Makes a location of what follows the scheme; both are in the text.
type Parse = fn(&OsStr) -> Result<Box<dyn Location>, Failure>;

/// A kind of store.
struct Kind {
    schemes: &'static [&'static str],
    feature: &'static str,
    form: &'static str,
    /// `None`: not compiled in.
    parse: Option<Parse>,
}

macro_rules! compiled_with {
    ($feature:literal, $parse:path) => {{
        #[cfg(feature = $feature)]
        {
            Some($parse)
        }
        #[cfg(not(feature = $feature))]
        {
            None
        }
    }};
}

const KINDS: [Kind; 4] = [
    Kind {
        schemes: &["sqlite"],
        feature: "sqlite",
        form: "sqlite:PATH",
        parse: compiled_with!("sqlite", sqlite::parse),
    },
    Kind {
        schemes: &["postgres", "postgresql"],
        feature: "postgres",
        form: "postgres://USER@HOST/DATABASE",
        parse: compiled_with!("postgres", postgres::parse),
    },
    Kind {
        schemes: &["redis", "rediss"],
        feature: "redis",
        form: "redis://HOST or rediss://HOST",
        parse: compiled_with!("redis", redis::parse),
    },
    Kind {
        schemes: &["dynamodb"],
        feature: "dynamodb",
        form: "dynamodb:TABLE",
        parse: compiled_with!("dynamodb", dynamodb::parse),
    },
];

/// What `--store` says, or the file in the user's state directory.
pub(crate) fn locate(argument: Option<&OsStr>) -> Result<Box<dyn Location>, Failure> {
    match argument {
        Some(argument) => parse(argument),
        None => of_user(),
    }
}

fn parse(argument: &OsStr) -> Result<Box<dyn Location>, Failure> {
    let text = argument.to_string_lossy();
    let Some(scheme) = scheme(&text) else {
        return Err(refuse("it does not say which kind of store it is"));
    };
    let Some(kind) = KINDS.iter().find(|kind| kind.schemes.contains(&scheme)) else {
        return Err(refuse(&format!("there is no kind of store {scheme:?}")));
    };
    match kind.parse {
        Some(parse) => parse(argument),
        None => Err(not_compiled(kind)),
    }
}

/// What is before the first colon, if it looks like a scheme: anything else may be a secret that
/// lost its beginning.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let plausible = scheme.len() <= 16
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    plausible.then_some(scheme)
}

#[cfg(feature = "sqlite")]
fn of_user() -> Result<Box<dyn Location>, Failure> {
    sqlite::of_user()
}

#[cfg(not(feature = "sqlite"))]
fn of_user() -> Result<Box<dyn Location>, Failure> {
    if KINDS.iter().all(|kind| kind.parse.is_none()) {
        return Err(refuse("none was named"));
    }
    Err(Failure::new(
        Exit::StoreUnusable,
        "no store was named, and this 'dlock' has none that it could take by itself: it was built without the feature \"sqlite\"",
    )
    .advise(format!("name one, with --store or in DLOCK_STORE: {}", forms())))
}

fn not_compiled(kind: &Kind) -> Failure {
    Failure::new(
        Exit::StoreUnusable,
        format!(
            "this 'dlock' was built without stores of the kind {:?}",
            kind.schemes[0]
        ),
    )
    .advise(format!(
        "build it with that feature: cargo install --path dlock-cli --features {}",
        kind.feature
    ))
}

/// An argument that is no location. It is not repeated: it may contain a password.
fn refuse(what: &str) -> Failure {
    let failure = Failure::new(Exit::StoreUnusable, format!("this is not a store: {what}"));
    match forms() {
        forms if forms.is_empty() => failure.advise(
            "this 'dlock' was built without any store: build it with the features of those you use, \
             cargo install --path dlock-cli --features sqlite,postgres,redis,dynamodb",
        ),
        forms => failure.advise(format!("give one as {forms}")),
    }
}

/// How the stores are written that this program can open.
fn forms() -> String {
    let compiled = KINDS.iter().filter(|kind| kind.parse.is_some());
    compiled
        .map(|kind| kind.form)
        .collect::<Vec<_>>()
        .join(", ")
}

impl Store {
    /// The client of this run.
    pub(crate) fn client(&self) -> Client {
        let client = Client::new(Arc::clone(&self.provider));
        match self.seen.clone() {
            Some(Seen { folder, store }) => client.observations(folder, store),
            None => client,
        }
    }

    /// Whether only those who have seen a lock unchanged for long enough can tell that its holder is
    /// dead.
    pub(crate) fn needs_observers(&self) -> bool {
        self.provider.capabilities().discipline == Discipline::Observer
    }

    /// Makes what locks need; nothing if it is there.
    pub(crate) async fn set_up(&self) -> Result<(), Failure> {
        self.diagnosis.set_up().await
    }

    /// The store has no answer: why, and what to do.
    pub(crate) async fn failure(&self, doing: &str, error: ProviderError) -> Failure {
        self.diagnosis.failure(doing, error).await
    }

    /// What a store does that gave no answer to a request.
    pub(crate) fn conduct(&self, error: &ProviderError) -> &'static str {
        self.diagnosis.conduct(error)
    }

    /// An acquire ended without the lock.
    pub(crate) async fn acquire_failure(&self, name: &str, error: Error) -> Failure {
        let doing = format!("can't acquire {name:?}");
        match error {
            Error::Provider(error)
            | Error::Timeout {
                holder: None,
                source: Some(error),
                ..
            } => self.failure(&doing, error).await,
            other => Failure::new(Exit::NotAcquired, doing).because(other),
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnosis.fmt(f)
    }
}

#[cfg(test)]
mod tests;
