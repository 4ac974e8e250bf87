//! `sqlite:PATH`: one file, for every process of this machine.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use dlock_sqlite::{OpenError, SqliteProvider, tasks::SqliteTasks};

use super::{
    Backend,
    query::{self, Query},
    state,
};
use crate::{Encryption, Program, Queue, Store, StoreError, diagnosis::Diagnosis};

const SQLITE: &str = "sqlite:";

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct File {
    path: PathBuf,
    prefix: Option<String>,
    /// It is the default, which the user did not name.
    default: bool,
}

/// Reads `sqlite:PATH`.
pub(crate) fn parse(argument: &OsStr) -> Result<Box<dyn Backend>, StoreError> {
    File::parse(argument).map(|file| Box::new(file) as _)
}

/// `locks.db` in the user's state directory.
pub(crate) fn of_user() -> Result<Box<dyn Backend>, StoreError> {
    let directory = state::directory().ok_or_else(|| {
        let why = match std::env::home_dir() {
            Some(home) => format!("HOME is {home:?}, which is no absolute path"),
            None => "this user has no home directory".to_owned(),
        };
        StoreError::unusable(format!("there is no place for the default store: {why}"))
            .advise("set HOME, or name a store: --store sqlite:PATH")
    })?;
    Ok(Box::new(File {
        path: directory.join("locks.db"),
        prefix: None,
        default: true,
    }))
}

impl File {
    fn parse(argument: &OsStr) -> Result<Self, StoreError> {
        let text = strip_prefix(argument, SQLITE).unwrap_or_default();
        let (path, query) = split_query(&text)?;
        if path.is_empty() {
            return Err(StoreError::no_location("it names no file"));
        }
        Ok(Self {
            path: path.into(),
            prefix: Query::parse(&query, &["prefix"])?.take("prefix")?,
            default: false,
        })
    }

    /// The result of opening the file, on a thread where it may block.
    async fn opened<T: Send + 'static>(
        &self,
        open: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        tokio::task::spawn_blocking(open).await.map_err(|error| {
            StoreError::unusable(format!("can't open the store {self}")).because(error)
        })?
    }

    fn diagnosis(&self, set_up: &'static str) -> Diagnosis {
        Diagnosis {
            shown: self.to_string(),
            tables: None,
            set_up,
            if_silent: "is another program keeping it locked, or its disk full or gone? try again later",
            is_refusal: |_| false,
            probe: None,
        }
    }

    fn refused(&self, error: OpenError) -> StoreError {
        let doing = format!("can't open the store {self}");
        let elsewhere = self.default && matches!(error, OpenError::FileSystem { .. });
        let failure = match error {
            // These pass without help.
            OpenError::Busy { .. } | OpenError::Replaced { .. } | OpenError::Full { .. } => {
                StoreError::unreachable(doing)
            }
            _ => StoreError::unusable(doing),
        }
        .because(error);
        if elsewhere {
            // A home directory that comes over the network.
            failure.advise(
                "this is the default store, in this user's home directory; say --store or set DLOCK_STORE: \
                 sqlite:PATH of a file on a local disk, or the URL of a server",
            )
        } else {
            failure
        }
    }
}

#[async_trait]
impl Backend for File {
    /// Makes the file if it does not exist.
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        let file = self.clone();
        let provider = self
            .opened(move || {
                if file.default {
                    make_directory(&file.path)?;
                }
                SqliteProvider::builder()
                    .path(&file.path)
                    .prefix(file.prefix.as_deref().unwrap_or_default())
                    .build()
                    .map_err(|error| file.refused(error))
            })
            .await?;
        Ok(Store {
            provider: Arc::new(provider),
            seen: None,
            encryption: self.encryption(),
            diagnosis: self.diagnosis(program.set_up),
        })
    }

    async fn open_queue(&self, program: &Program, make: bool) -> Result<Queue, StoreError> {
        if self.prefix.is_some() {
            return Err(StoreError::no_location("a queue has no prefix").advise("leave it out"));
        }
        let file = self.clone();
        let tasks = self
            .opened(move || {
                if file.default && make {
                    make_directory(&file.path)?;
                }
                let found = if make {
                    SqliteTasks::open(&file.path).map(Some)
                } else {
                    SqliteTasks::find(&file.path)
                };
                found.map_err(|error| file.refused(error))
            })
            .await?
            .ok_or_else(|| {
                StoreError::unusable(format!("there is no queue in {self}")).advise(
                    "is the path right? Programs that enqueue tasks make its tables, and so does 'dlock tasks setup'",
                )
            })?;
        Ok(Queue {
            tasks: Arc::new(tasks),
            diagnosis: self.diagnosis(program.set_up_queue),
        })
    }

    fn encryption(&self) -> Option<Encryption> {
        Some(Encryption::Local)
    }

    fn has_queues(&self) -> bool {
        true
    }

    fn exists(&self) -> bool {
        // A file that can't be seen may exist; opening it shows that.
        self.path.try_exists().unwrap_or(true)
    }

    fn is_default(&self) -> bool {
        self.default
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = query::shown(&[("prefix", &self.prefix)]);
        write!(f, "{SQLITE}{}{shown}", self.path.display())
    }
}

/// The directory of the default store. It is private to this user.
fn make_directory(file: &Path) -> Result<(), StoreError> {
    let Some(directory) = file.parent() else {
        return Ok(());
    };
    state::make_private(directory).map_err(|error| {
        StoreError::unusable(format!(
            "can't make the directory {} of the default store",
            directory.display()
        ))
        .because(error)
        .advise(
            "give this user permission to write there, or name another store: --store sqlite:PATH",
        )
    })
}

/// The path, and the text after the last question mark: a path with a question mark needs another one at its end.
#[cfg(unix)]
fn split_query(text: &OsStr) -> Result<(OsString, String), StoreError> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = text.as_bytes();
    let Some(at) = bytes.iter().rposition(|byte| *byte == b'?') else {
        return Ok((text.to_owned(), String::new()));
    };
    let query = String::from_utf8(bytes[at + 1..].to_vec()).map_err(|_| {
        StoreError::no_location("what follows the question mark is UTF-8, and this is not")
    })?;
    Ok((OsString::from_vec(bytes[..at].to_vec()), query))
}

#[cfg(not(unix))]
fn split_query(text: &OsStr) -> Result<(OsString, String), StoreError> {
    let text = text
        .to_str()
        .ok_or_else(|| StoreError::no_location("a path is UTF-8, and this is not"))?;
    let (path, query) = text.rsplit_once('?').unwrap_or((text, ""));
    Ok((path.into(), query.to_owned()))
}

#[cfg(unix)]
fn strip_prefix(text: &OsStr, prefix: &str) -> Option<OsString> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    Some(OsString::from_vec(
        text.as_bytes().strip_prefix(prefix.as_bytes())?.to_vec(),
    ))
}

#[cfg(not(unix))]
fn strip_prefix(text: &OsStr, prefix: &str) -> Option<OsString> {
    Some(text.to_str()?.strip_prefix(prefix)?.into())
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn path_is_everything_behind_the_colon_up_to_the_last_question_mark() {
        for wrong in ["sqlite", "sqlite:", "SQLITE:x"] {
            let failure = File::parse(OsStr::new(wrong)).unwrap_err();
            assert!(!failure.is_temporary(), "{wrong}");
        }
        for (text, path, prefix) in [
            ("sqlite:some dir/a%20b.db", "some dir/a%20b.db", None),
            ("sqlite:l.db?prefix=a%26b", "l.db", Some("a&b")),
            ("sqlite:what?.db?", "what?.db", None),
            ("sqlite:what?x=1?prefix=p", "what?x=1", Some("p")),
        ] {
            let file = File::parse(OsStr::new(text)).unwrap();
            let wanted = File {
                path: path.into(),
                prefix: prefix.map(str::to_owned),
                default: false,
            };
            assert_eq!(file, wanted);
        }
        let unknown = File::parse(OsStr::new("sqlite:locks.db?x=1")).unwrap_err();
        assert!(unknown.to_string().contains("prefix"), "{unknown}");
    }

    #[test]
    fn home_on_another_machine_is_told_what_to_do() {
        let told = |default| {
            let path = PathBuf::from("/home/me/.local/state/dlock/locks.db");
            let error = OpenError::FileSystem {
                path: path.clone(),
                kind: "NFS".into(),
            };
            let file = File {
                path,
                prefix: None,
                default,
            };
            let failure = file.refused(error);
            assert!(!failure.is_temporary());
            let why = failure.source().expect("why").to_string();
            format!("{failure}: {why}: {:?}", failure.advice())
        };
        let both = [told(true), told(false)];
        for told in &both {
            assert!(
                told.contains("NFS") && told.contains("local disk"),
                "{told}"
            );
        }
        assert!(
            both[0].contains("--store") && both[0].contains("DLOCK_STORE"),
            "{}",
            both[0]
        );
        assert!(!both[1].contains("default store"), "{}", both[1]);
    }
}
