//! The settings of a provider.

use std::{
    path::{self, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use dlock_core::provider::{Prefix, Sharing};
use typed_builder::TypedBuilder;

use crate::{
    error::OpenError,
    provider::SqliteProvider,
    store::Store,
    synchronous::Synchronous,
    worker::{Reader, Worker},
};

/// The settings of a provider.
#[derive(Debug, TypedBuilder)]
#[builder(
    builder_type(vis = "pub", name = SqliteProviderBuilder, doc = "Opens a [`SqliteProvider`]; made by [`SqliteProvider::builder`]."),
    build_method(into = Result<SqliteProvider, OpenError>, doc = "Opens the file, see [`SqliteProvider::open`].")
)]
pub(crate) struct Settings {
    /// The lock file. It is made if it is missing; its directory is not. A relative path starts from the process's
    /// current directory.
    #[builder(setter(into))]
    path: PathBuf,
    /// Separates the locks of one application from those of others in the same file: providers with different prefixes
    /// never meet. None by default. Prefix and name together have at most 1024 bytes.
    #[builder(default, setter(into))]
    prefix: String,
    /// How much of a commit is on the disk when a call returns; [`Synchronous::Normal`] by default.
    #[builder(default)]
    synchronous: Synchronous,
    /// How long a call waits for other writers of the file before it ends as not applied; 2 s by default, at most one
    /// minute, and never longer than an eighth of the lease that it is about, so that its caller still learns why.
    /// Calls of this provider that are queued behind it wait as long.
    #[builder(default = Duration::from_secs(2))]
    busy_timeout: Duration,
    /// Accepts a file on a file system that is refused otherwise, because several machines may share it (see
    /// [`OpenError::FileSystem`]); `false` by default. **If a second machine opens the file, every lock in it has two
    /// holders, without an error.** Only for a file system of one machine that is mistaken for a shared one, such as
    /// one in user space (FUSE) over a local disk.
    #[builder(default)]
    danger_accept_any_file_system: bool,
}

impl SqliteProvider {
    /// Opens a lock file with the default settings, and makes it if it is missing.
    ///
    /// Blocks the thread for as long as a few file operations take, and up to 10 s while other
    /// processes keep a *new* file locked: call it at the start of a program.
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the file and what to do about it. A file of another program is refused and
    /// not written to. None of them goes away without intervention except [`OpenError::Busy`], [`OpenError::Replaced`]
    /// and [`OpenError::Full`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, OpenError> {
        Self::builder().path(path).build()
    }

    /// Settings first, then `build()`, which is [`SqliteProvider::open`] with them.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use dlock_sqlite::{SqliteProvider, Synchronous};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("locks.db");
    /// let provider = SqliteProvider::builder()
    ///     .path(path)
    ///     .prefix("billing")
    ///     .synchronous(Synchronous::Full)
    ///     .busy_timeout(Duration::from_secs(1))
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn builder() -> SqliteProviderBuilder {
        Settings::builder()
    }
}

impl From<Settings> for Result<SqliteProvider, OpenError> {
    fn from(settings: Settings) -> Self {
        const LONGEST: Duration = Duration::from_secs(60);
        let Settings {
            path,
            prefix,
            synchronous,
            busy_timeout,
            danger_accept_any_file_system,
        } = settings;
        if busy_timeout > LONGEST {
            return Err(OpenError::BusyTimeout {
                timeout: busy_timeout,
            });
        }
        let prefix = Prefix::new(&prefix)?;
        if path.as_os_str().is_empty() {
            return Err(OpenError::Path {
                path,
                reason: "it is empty",
            });
        }
        if path.as_os_str() == ":memory:" {
            return Err(OpenError::Path {
                path,
                reason: "a database in memory belongs to one process",
            });
        }
        let path = path::absolute(&path).map_err(|error| OpenError::other(&path, error))?;
        let store = Store::open(
            &path,
            synchronous,
            busy_timeout,
            danger_accept_any_file_system,
        )?;
        let worker = Worker::start().map_err(|error| OpenError::other(&path, error))?;
        Ok(SqliteProvider {
            watch: store.watch(),
            clock: store.clock().clone(),
            reader: Arc::new(Reader::new()),
            store: Arc::new(Mutex::new(store)),
            worker,
            path: path.into(),
            prefix,
            sharing: Sharing::default(),
        })
    }
}
