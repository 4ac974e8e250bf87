//! `sqlite:PATH`: one file, every process of this machine.

use std::{
    ffi::{OsStr, OsString},
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use dlock_sqlite::{OpenError, SqliteProvider, tasks::SqliteTasks};

use super::{
    Location, Queue, Store,
    diagnosis::{Diagnosis, SET_UP},
    query::{self, Query},
    queue, refuse, state,
};
use crate::exit::{Exit, Failure};

const SQLITE: &str = "sqlite:";

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct File {
    path: PathBuf,
    prefix: Option<String>,
    /// Nobody asked for this one.
    default: bool,
}

/// Makes a location of `sqlite:PATH`.
pub(super) fn parse(argument: &OsStr) -> Result<Box<dyn Location>, Failure> {
    File::parse(argument).map(|file| Box::new(file) as _)
}

/// Opens the queue of `sqlite:PATH`; makes the file and its tables if told so.
pub(super) fn queue(argument: &OsStr, make: bool) -> Result<Queue, Failure> {
    let file = File::parse(argument)?;
    if file.prefix.is_some() {
        return Err(refuse("a queue has no prefix"));
    }
    let found = if make {
        SqliteTasks::open(&file.path).map(Some)
    } else {
        SqliteTasks::find(&file.path)
    };
    let tasks = found
        .map_err(|error| file.refused(error))?
        .ok_or_else(|| {
            Failure::new(Exit::StoreUnusable, format!("there is no queue in {file}")).advise(
                "is the path right? Programs that enqueue tasks make its tables, and so does 'dlock tasks setup'",
            )
        })?;
    Ok(Queue {
        store: Arc::new(tasks),
        diagnosis: file.diagnosis(queue::SET_UP),
    })
}

/// `locks.db` in the user's state directory.
pub(super) fn of_user() -> Result<Box<dyn Location>, Failure> {
    let directory = state::directory().ok_or_else(|| {
        Failure::new(
            Exit::StoreUnusable,
            "there is no place for the default store: this user has no home directory",
        )
        .advise("set HOME, or name a store: --store sqlite:PATH")
    })?;
    Ok(Box::new(File {
        path: directory.join("locks.db"),
        prefix: None,
        default: true,
    }))
}

impl File {
    fn parse(argument: &OsStr) -> Result<Self, Failure> {
        let text = strip_prefix(argument, SQLITE).unwrap_or_default();
        let (path, query) = split_query(&text)?;
        if path.is_empty() {
            return Err(refuse("it names no file"));
        }
        Ok(Self {
            path: path.into(),
            prefix: Query::parse(&query, &["prefix"])?.take("prefix")?,
            default: false,
        })
    }

    fn diagnosis(&self, set_up: &'static str) -> Diagnosis {
        Diagnosis {
            shown: self.to_string(),
            tables: None,
            set_up,
            if_silent: "is another program keeping it locked, or its disk full or gone? try again later",
            is_refusal: |_| false,
        }
    }

    fn refused(&self, error: OpenError) -> Failure {
        let exit = match error {
            // These go away by themselves.
            OpenError::Busy { .. } | OpenError::Replaced { .. } | OpenError::Full { .. } => {
                Exit::StoreUnreachable
            }
            _ => Exit::StoreUnusable,
        };
        let elsewhere = self.default && matches!(error, OpenError::FileSystem { .. });
        let failure = Failure::new(exit, format!("can't open the store {self}")).because(error);
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
impl Location for File {
    /// Makes the file if it does not exist.
    async fn open(&self) -> Result<Store, Failure> {
        let file = self.clone();
        let opening = tokio::task::spawn_blocking(move || {
            if file.default {
                make_directory(&file.path)?;
            }
            SqliteProvider::builder()
                .path(&file.path)
                .prefix(file.prefix.as_deref().unwrap_or_default())
                .build()
                .map_err(|error| file.refused(error))
        });
        let provider = opening.await.map_err(|error| {
            Failure::new(Exit::StoreUnusable, format!("can't open the store {self}")).because(error)
        })??;
        Ok(Store {
            provider: Arc::new(provider),
            seen: None,
            diagnosis: self.diagnosis(SET_UP),
        })
    }

    fn exists(&self) -> bool {
        // What can't be seen may exist; opening it tells.
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

/// The directory of the default store. Nobody else's business, so nobody else may look.
fn make_directory(file: &Path) -> Result<(), Failure> {
    let Some(directory) = file.parent() else {
        return Ok(());
    };
    create_private(directory).map_err(|error| {
        Failure::new(
            Exit::StoreUnusable,
            format!(
                "can't make the directory {} of the default store",
                directory.display()
            ),
        )
        .because(error)
        .advise(
            "give this user permission to write there, or name another store: --store sqlite:PATH",
        )
    })
}

#[cfg(unix)]
fn create_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

#[cfg(not(unix))]
fn create_private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).create(directory)
}

/// The path, and what stands behind the last question mark: a path with one of its own takes another one.
#[cfg(unix)]
fn split_query(text: &OsStr) -> Result<(OsString, String), Failure> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = text.as_bytes();
    let Some(at) = bytes.iter().rposition(|byte| *byte == b'?') else {
        return Ok((text.to_owned(), String::new()));
    };
    let query = String::from_utf8(bytes[at + 1..].to_vec())
        .map_err(|_| refuse("what follows the question mark is UTF-8, and this is not"))?;
    Ok((OsString::from_vec(bytes[..at].to_vec()), query))
}

#[cfg(not(unix))]
fn split_query(text: &OsStr) -> Result<(OsString, String), Failure> {
    let text = text
        .to_str()
        .ok_or_else(|| refuse("a path is UTF-8, and this is not"))?;
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
    use super::*;

    #[test]
    fn path_is_everything_behind_the_colon_up_to_the_last_question_mark() {
        for wrong in ["sqlite", "sqlite:", "SQLITE:x"] {
            let failure = File::parse(OsStr::new(wrong)).unwrap_err();
            assert_eq!(failure.exit(), Exit::StoreUnusable, "{wrong}");
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
            assert_eq!(failure.exit(), Exit::StoreUnusable);
            format!("{failure} {failure:?}")
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
