//! The place of a store: reading what people write.

use std::{ffi::OsStr, fmt};

use crate::{Encryption, Program, Queue, Store, StoreError, backend::Backend};

/// The place of a store, not opened yet. Its `Display` is for people, and has no secret.
pub struct Location {
    backend: Box<dyn Backend>,
    program: &'static Program,
}

/// Makes a location of the whole text, scheme included.
type Parse = fn(&OsStr) -> Result<Box<dyn Backend>, StoreError>;

/// A kind of store. Programs take their help, their advice and their errors from here.
pub(crate) struct Kind {
    pub(crate) schemes: &'static [&'static str],
    pub(crate) feature: &'static str,
    /// For people: one form, or several with " or " between them.
    pub(crate) form: &'static str,
    /// How a location is written, with all settings, as `dlock setup --help` shows it.
    pub(crate) settings: &'static str,
    has_queues: bool,
    /// `None`: not compiled in.
    pub(crate) parse: Option<Parse>,
}

macro_rules! compiled_with {
    ($feature:literal, $module:ident) => {{
        #[cfg(feature = $feature)]
        {
            Some(crate::backend::$module::parse)
        }
        #[cfg(not(feature = $feature))]
        {
            None
        }
    }};
}

pub(crate) const KINDS: &[Kind] = &[
    Kind {
        schemes: &["sqlite"],
        feature: "sqlite",
        form: "sqlite:PATH",
        settings: include_str!("backend/sqlite.txt"),
        has_queues: true,
        parse: compiled_with!("sqlite", sqlite),
    },
    Kind {
        schemes: &["postgres", "postgresql"],
        feature: "postgres",
        form: "postgres://USER@HOST/DATABASE",
        settings: include_str!("backend/postgres.txt"),
        has_queues: true,
        parse: compiled_with!("postgres", postgres),
    },
    Kind {
        schemes: &["redis", "rediss", "redis+sentinel", "rediss+sentinel"],
        feature: "redis",
        form: "redis://HOST or rediss://HOST or redis+sentinel://HOSTS/SERVICE",
        settings: include_str!("backend/redis.txt"),
        has_queues: false,
        parse: compiled_with!("redis", redis),
    },
    Kind {
        schemes: &["dynamodb"],
        feature: "dynamodb",
        form: "dynamodb:TABLE",
        settings: include_str!("backend/dynamodb.txt"),
        has_queues: false,
        parse: compiled_with!("dynamodb", dynamodb),
    },
    Kind {
        schemes: &["etcd", "etcds"],
        feature: "etcd",
        form: "etcd://HOST or etcds://HOST",
        settings: include_str!("backend/etcd.txt"),
        has_queues: false,
        parse: compiled_with!("etcd", etcd),
    },
    Kind {
        schemes: &["kubernetes"],
        feature: "kubernetes",
        form: "kubernetes://NAMESPACE",
        settings: include_str!("backend/kubernetes.txt"),
        has_queues: false,
        parse: compiled_with!("kubernetes", kubernetes),
    },
    Kind {
        schemes: &["mysql"],
        feature: "mysql",
        form: "mysql://USER@HOST/DATABASE",
        settings: include_str!("backend/mysql.txt"),
        has_queues: false,
        parse: compiled_with!("mysql", mysql),
    },
    Kind {
        schemes: &["nats", "natss"],
        feature: "nats",
        form: "nats://HOST/BUCKET",
        settings: include_str!("backend/nats.txt"),
        has_queues: false,
        parse: compiled_with!("nats", nats),
    },
    Kind {
        schemes: &["s3", "azure"],
        feature: "object-store",
        form: "s3://BUCKET/PREFIX or azure://CONTAINER/PREFIX",
        settings: include_str!("backend/object_store.txt"),
        has_queues: false,
        parse: compiled_with!("object-store", object_store),
    },
    Kind {
        schemes: &["https", "http"],
        feature: "http",
        form: "https://HOST",
        settings: include_str!("backend/http.txt"),
        has_queues: true,
        parse: compiled_with!("http", http),
    },
];

/// The place in `--store`, or the file in the user's state directory.
///
/// # Errors
/// The text is no location, the program was built without stores of its kind, or there is no place for
/// the default.
pub fn locate(program: &'static Program, argument: Option<&OsStr>) -> Result<Location, StoreError> {
    let backend = match argument {
        Some(argument) => parse(program, argument),
        None => of_user(program),
    }?;
    Ok(Location { backend, program })
}

/// The same where only a queue will do: a kind of store that has none is refused.
///
/// # Errors
/// As [`locate`].
pub fn locate_queue(program: &'static Program, argument: &OsStr) -> Result<Location, StoreError> {
    let text = argument.to_string_lossy();
    let kind = scheme(&text).and_then(kind_of);
    if kind.is_none_or(|kind| !kind.has_queues) {
        return Err(StoreError::unusable("this is no database with tasks").advise(
            "give one as sqlite:PATH, postgres://USER@HOST/DATABASE or https://HOST: queues are in databases of these kinds, and behind servers",
        ));
    }
    locate(program, Some(argument))
}

impl Location {
    /// Opens the store; makes the file of an embedded one. Sends nothing to a server yet.
    ///
    /// # Errors
    /// A file can't be opened, or the surroundings of a server's client are wrong: credentials, certificates.
    pub async fn open(&self) -> Result<Store, StoreError> {
        self.backend.open(self.program).await
    }

    /// Opens the queue in the store. Of an embedded one it makes the file and its tables if `make` is set; otherwise a
    /// file without them is an error. Sends nothing to a server yet.
    ///
    /// # Errors
    /// As [`open`](Self::open); and if stores of this kind have no queues, or the location has more settings than a
    /// queue takes (a prefix).
    pub async fn open_queue(&self, make: bool) -> Result<Queue, StoreError> {
        self.backend.open_queue(self.program, make).await
    }

    /// Whether stores of this kind have queues.
    #[must_use]
    pub fn has_queues(&self) -> bool {
        self.backend.has_queues()
    }

    /// Whether the store exists already; always true of a server.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.backend.exists()
    }

    /// How the traffic with the store is protected; `None` if the location does not decide that. Where this process's
    /// surroundings decide, the [opened store](crate::Store::encryption) knows.
    #[must_use]
    pub fn encryption(&self) -> Option<Encryption> {
        self.backend.encryption()
    }

    /// Whether this is the default, which the user did not name.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.backend.is_default()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.backend.fmt(f)
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Location").field(&self.backend).finish()
    }
}

fn parse(program: &Program, argument: &OsStr) -> Result<Box<dyn Backend>, StoreError> {
    let text = argument.to_string_lossy();
    let Some(scheme) = scheme(&text) else {
        return Err(refuse(program, "it does not say which kind of store it is"));
    };
    let Some(kind) = kind_of(scheme) else {
        return Err(refuse(
            program,
            &format!("there is no kind of store {scheme:?}"),
        ));
    };
    match kind.parse {
        Some(parse) => parse(argument).map_err(|error| error.advise(give_one())),
        None => Err(not_compiled(program, kind)),
    }
}

fn kind_of(scheme: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.schemes.contains(&scheme))
}

/// The text before the first colon, if it looks like a scheme: anything else may be a secret that lost its beginning.
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
fn of_user(_program: &Program) -> Result<Box<dyn Backend>, StoreError> {
    crate::backend::sqlite::of_user()
}

#[cfg(not(feature = "sqlite"))]
fn of_user(program: &Program) -> Result<Box<dyn Backend>, StoreError> {
    if is_without_stores() {
        return Err(refuse(program, "none was named"));
    }
    let name = program.name;
    Err(StoreError::unusable(format!(
        "no store was named, and this '{name}' has no default: it was built without the feature \"sqlite\"",
    ))
    .advise(format!("name one, with --store or in DLOCK_STORE: {}", forms())))
}

fn not_compiled(program: &Program, kind: &Kind) -> StoreError {
    let Program { name, folder, .. } = program;
    StoreError::unusable(format!(
        "this '{name}' was built without stores of the kind {:?}",
        kind.schemes[0]
    ))
    .advise(format!(
        "build it with that feature: cargo install --path {folder} --features {}",
        kind.feature
    ))
}

/// Refuses a text of no kind of store.
fn refuse(program: &Program, what: &str) -> StoreError {
    let Program { name, folder, .. } = program;
    StoreError::no_location(what).advise(if is_without_stores() {
        format!(
            "this '{name}' was built without any store: build it with the features of those you use, \
             cargo install --path {folder} --features {}",
            joined(KINDS, |kind| kind.feature, ",")
        )
    } else {
        give_one()
    })
}

fn is_without_stores() -> bool {
    KINDS.iter().all(|kind| kind.parse.is_none())
}

fn give_one() -> String {
    format!("give one as {}", forms())
}

/// The forms of the locations that this program can open.
fn forms() -> String {
    let compiled = KINDS.iter().filter(|kind| kind.parse.is_some());
    joined(compiled, |kind| kind.form, ", ")
}

/// The forms of all locations, for a program's help: `sqlite:PATH; postgres://USER@HOST/DATABASE; ..`.
#[must_use]
pub fn all_forms() -> String {
    joined(KINDS, |kind| kind.form, "; ")
}

/// How the locations of all kinds are written, with their settings: a paragraph for each, for a program's help.
#[must_use]
pub fn settings() -> String {
    joined(KINDS, |kind| kind.settings, "")
}

fn joined<'k>(
    kinds: impl IntoIterator<Item = &'k Kind>,
    text: fn(&Kind) -> &'static str,
    separator: &str,
) -> String {
    let texts: Vec<_> = kinds.into_iter().map(text).collect();
    texts.join(separator)
}
