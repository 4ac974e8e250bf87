//! `sqlite:PATH`: one file, every process of this machine.

use std::{
    ffi::{OsStr, OsString},
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use dlock_sqlite::{OpenError, SqliteProvider};

use super::{Location, Store, refuse, state};
use crate::exit::{Exit, Failure};

const SQLITE: &str = "sqlite:";

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct File {
    path: PathBuf,
    /// Nobody asked for this one.
    default: bool,
}

/// Makes a location of `sqlite:PATH`.
pub(super) fn parse(argument: &OsStr) -> Result<Box<dyn Location>, Failure> {
    File::parse(argument).map(|file| Box::new(file) as _)
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
        default: true,
    }))
}

impl File {
    fn parse(argument: &OsStr) -> Result<Self, Failure> {
        match strip_prefix(argument, SQLITE) {
            Some(path) if !path.is_empty() => Ok(Self {
                path: path.into(),
                default: false,
            }),
            _ => Err(refuse("it names no file")),
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
            SqliteProvider::open(&file.path).map_err(|error| file.refused(error))
        });
        let provider = opening.await.map_err(|error| {
            Failure::new(Exit::StoreUnusable, format!("can't open the store {self}")).because(error)
        })??;
        Ok(Store {
            provider: Arc::new(provider),
            shown: self.to_string(),
            tables: None,
            seen: None,
            if_silent: "is another program keeping it locked, or its disk full or gone? try again later",
            is_refusal: |_| false,
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
        write!(f, "{SQLITE}{}", self.path.display())
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
    fn everything_behind_the_colon_is_the_path() {
        for wrong in ["sqlite", "sqlite:", "SQLITE:x"] {
            let failure = File::parse(OsStr::new(wrong)).unwrap_err();
            assert_eq!(failure.exit(), Exit::StoreUnusable, "{wrong}");
        }
        let file = File::parse(OsStr::new("sqlite:some dir/locks.db?x=1")).unwrap();
        assert_eq!(
            file,
            File {
                path: "some dir/locks.db?x=1".into(),
                default: false
            }
        );
        assert_eq!(file.to_string(), "sqlite:some dir/locks.db?x=1");
    }

    #[test]
    fn home_on_another_machine_is_told_what_to_do() {
        let told = |default| {
            let path = PathBuf::from("/home/me/.local/state/dlock/locks.db");
            let error = OpenError::FileSystem {
                path: path.clone(),
                kind: "NFS".into(),
            };
            let failure = File { path, default }.refused(error);
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
