//! Which store, and opening it.

use std::{
    ffi::{OsStr, OsString},
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use dlock_core::Admin;
use dlock_sqlite::{OpenError, SqliteProvider};

use crate::exit::{Exit, Failure};

const SQLITE: &str = "sqlite:";

/// Where the locks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    path: PathBuf,
    /// Nobody asked for this one.
    default: bool,
}

/// An open store.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) provider: Arc<dyn Admin>,
    pub(crate) location: Location,
}

impl Location {
    /// What `--store` says, or the file in the user's state directory.
    pub(crate) fn new(argument: Option<&OsStr>) -> Result<Self, Failure> {
        match argument {
            // An empty one too: a variable that somebody forgot to set must not lead to another
            // store, where nobody else looks.
            Some(argument) => Self::parse(argument),
            None => Self::of_user(),
        }
    }

    fn parse(argument: &OsStr) -> Result<Self, Failure> {
        let refuse = |what: &str| {
            Failure::new(
                Exit::StoreUnusable,
                format!("{argument:?} is not a store: {what}"),
            )
            .advise("give one as sqlite:PATH, the path of a file on a local disk")
        };
        match strip_prefix(argument, SQLITE) {
            Some(path) if path.is_empty() => Err(refuse("it names no file")),
            Some(path) => Ok(Self {
                path: path.into(),
                default: false,
            }),
            None => Err(match argument.to_string_lossy().split_once(':') {
                Some((scheme, _)) => refuse(&format!("there is no kind of store {scheme:?} here")),
                None => refuse("it does not say which kind of store it is"),
            }),
        }
    }

    /// `$XDG_STATE_HOME/dlock/locks.db`, by default in `~/.local/state` (the XDG base directory
    /// specification, which also says to ignore a relative path).
    fn of_user() -> Result<Self, Failure> {
        let state = std::env::var_os("XDG_STATE_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        let home = || {
            Some(
                std::env::home_dir()
                    .filter(|home| home.is_absolute())?
                    .join(".local/state"),
            )
        };
        let state = state.or_else(home).ok_or_else(|| {
            Failure::new(
                Exit::StoreUnusable,
                "there is no place for the default store: this user has no home directory",
            )
            .advise("set HOME, or name a store: --store sqlite:PATH")
        })?;
        Ok(Self {
            path: state.join("dlock").join("locks.db"),
            default: true,
        })
    }

    /// Whether there is a file already.
    pub(crate) fn exists(&self) -> bool {
        // What can't be seen may exist; opening it tells.
        self.path.try_exists().unwrap_or(true)
    }

    /// Whether it is the default.
    pub(crate) const fn is_default(&self) -> bool {
        self.default
    }

    /// Opens the store; makes it if it does not exist.
    pub(crate) async fn open(self) -> Result<Store, Failure> {
        let Self { path, default } = self.clone();
        let opening = tokio::task::spawn_blocking(move || {
            if default {
                make_directory(&path)?;
            }
            SqliteProvider::open(&path).map_err(|error| refused(&path, error))
        });
        let provider = opening.await.map_err(|error| {
            Failure::new(Exit::StoreUnusable, format!("can't open the store {self}")).because(error)
        })??;
        Ok(Store {
            provider: Arc::new(provider),
            location: self,
        })
    }
}

impl fmt::Display for Location {
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

fn refused(path: &Path, error: OpenError) -> Failure {
    let exit = match error {
        // These go away by themselves.
        OpenError::Busy { .. } | OpenError::Replaced { .. } | OpenError::Full { .. } => {
            Exit::StoreUnreachable
        }
        _ => Exit::StoreUnusable,
    };
    Failure::new(
        exit,
        format!("can't open the store {SQLITE}{}", path.display()),
    )
    .because(error)
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
    fn only_a_named_file_is_a_store() {
        for wrong in [
            "",
            "sqlite",
            "sqlite:",
            "postgres://host/db",
            "/tmp/locks.db",
            "SQLITE:x",
        ] {
            let failure = Location::new(Some(OsStr::new(wrong))).unwrap_err();
            assert_eq!(failure.exit(), Exit::StoreUnusable, "{wrong}");
        }
        let location = Location::new(Some(OsStr::new("sqlite:some dir/locks.db"))).unwrap();
        assert_eq!(
            location,
            Location {
                path: "some dir/locks.db".into(),
                default: false
            }
        );
        assert_eq!(location.to_string(), "sqlite:some dir/locks.db");
    }
}
