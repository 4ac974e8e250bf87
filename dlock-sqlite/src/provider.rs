//! The provider: settings, clones, and the way from an async call to the one blocking connection.
//! The rules themselves are in `requests.rs`.

use std::{
    fmt,
    path::{self, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, Discipline, Durability, List,
    Name, Page, Prefix, Provider, ProviderError, Record, Release, ReleaseOutcome, Renew,
    RenewOutcome, Revoke, RevokeOutcome, Sharing, Wakeups,
};
use typed_builder::TypedBuilder;

use crate::{
    admin, clock::StoreClock, error::OpenError, key::Key, requests, store::Store,
    synchronous::Synchronous, wakeups::Watch, worker::Worker,
};

/// Locks in one SQLite file, shared by every process of one host.
///
/// Cheap to clone; clones use one connection and one [`Client`](dlock_core::Client). What the file
/// guarantees, and how it can lose a lock, is said in the [documentation of the crate](crate). Its
/// calls run one at a time on a thread that they share, and need no runtime.
///
/// # Cancel safety
/// A future that is dropped in line has done nothing. One that is dropped later leaves a call that
/// runs to its end, at most the busy timeout and a few writes: it may be applied, and the connection
/// stays usable.
#[derive(Clone)]
pub struct SqliteProvider {
    /// Before the store, so that its connection closes first.
    watch: Arc<Watch>,
    /// Only calls on the worker's thread lock it.
    store: Arc<Mutex<Store>>,
    clock: StoreClock,
    worker: Worker,
    path: Arc<Path>,
    prefix: Prefix,
    sharing: Sharing,
}

/// What a provider is opened with.
#[derive(Debug, TypedBuilder)]
#[builder(
    builder_type(vis = "pub", name = SqliteProviderBuilder, doc = "Opens a [`SqliteProvider`]; made by [`SqliteProvider::builder`]."),
    build_method(into = Result<SqliteProvider, OpenError>, doc = "Opens the file, see [`SqliteProvider::open`].")
)]
pub(crate) struct Settings {
    #[builder(setter(
        into,
        doc = "The lock file. It is made if it is missing; its directory is not. A relative path is one of the directory the process is in now."
    ))]
    path: PathBuf,
    #[builder(
        default,
        setter(
            into,
            doc = "Separates the locks of one application from those of others in the same file: providers with different prefixes never meet. None by default. With the name at most 1024 bytes."
        )
    )]
    prefix: String,
    #[builder(
        default,
        setter(
            doc = "How much of a commit is on the disk when a call returns; [`Synchronous::Normal`] by default."
        )
    )]
    synchronous: Synchronous,
    #[builder(default = Duration::from_secs(2), setter(
        doc = "How long a call waits for other writers of the file before it ends as not applied; 2 s by default, at most one minute, and never longer than an eighth of the lease that it is about, so that its caller still hears why. Calls of this provider behind it wait as long."
    ))]
    busy_timeout: Duration,
    #[builder(
        default,
        setter(
            doc = "Takes a file on a file system that is refused otherwise, because several machines may share it (see [`OpenError::FileSystem`]); `false` by default. **If a second machine opens the file, every lock in it has two holders, without an error.** Only for a file system of one machine that is taken for another, such as one in user space (FUSE) over a local disk."
        )
    )]
    danger_accept_any_file_system: bool,
}

impl SqliteProvider {
    /// Opens a lock file with the default settings, and makes it if it is missing.
    ///
    /// Blocks the thread for as long as a few file operations take, and up to 10 s while other
    /// processes keep a *new* file locked: call it at the start of a program.
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the file and what to do about it. A file of another
    /// program is refused and not written to. None of them goes away by itself except
    /// [`OpenError::Busy`], [`OpenError::Replaced`] and [`OpenError::Full`].
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

    /// The same file over the same connection with another prefix: other locks, so another
    /// [`Client`](dlock_core::Client).
    ///
    /// # Errors
    /// [`OpenError::Prefix`] if the text cannot be one.
    pub fn with_prefix(&self, prefix: &str) -> Result<Self, OpenError> {
        Ok(Self {
            prefix: Prefix::new(prefix)?,
            sharing: Sharing::default(),
            ..self.clone()
        })
    }

    /// The absolute path of the lock file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` with the connection when its turn comes.
    async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let store = Arc::clone(&self.store);
        let called = self.clock.now().instant;
        let work = move || {
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            store.call_of(called);
            work(&mut store)
        };
        self.worker.run(work).await
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
        let path = path::absolute(&path).map_err(|error| OpenError::Other {
            path,
            source: Box::new(error),
        })?;
        let store = Store::open(
            &path,
            synchronous,
            busy_timeout,
            danger_accept_any_file_system,
        )?;
        let worker = Worker::start().map_err(|error| OpenError::Other {
            path: path.clone(),
            source: Box::new(error),
        })?;
        Ok(SqliteProvider {
            watch: store.watch(),
            clock: store.clock().clone(),
            store: Arc::new(Mutex::new(store)),
            worker,
            path: path.into(),
            prefix,
            sharing: Sharing::default(),
        })
    }
}

impl fmt::Debug for SqliteProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteProvider")
            .field("path", &self.path)
            .field("prefix", &self.prefix.as_str())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for SqliteProvider {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("sqlite", Discipline::StoreClock)
            .closing(true)
            .watch(true)
            .batch(true)
            .durability(Durability::Durable)
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let key = Key::new(&self.prefix, &request.name)?;
        let (request, watch) = (request.clone(), Arc::clone(&self.watch));
        self.call(move |store| {
            let outcome = requests::acquire(store, &key, &request)?;
            if let AcquireOutcome::Held(record) = &outcome {
                watch.refused(&key, record);
            }
            Ok(outcome)
        })
        .await
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let key = Key::new(&self.prefix, &request.name)?;
        let request = request.clone();
        self.call(move |store| {
            store.write(
                |view| view.lease(&key),
                |view| requests::renew(view, &key, &request),
            )
        })
        .await
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let key = Key::new(&self.prefix, &request.name)?;
        let (request, watch) = (request.clone(), Arc::clone(&self.watch));
        self.call(move |store| {
            let outcome = store.write(
                |view| view.lease(&key),
                |view| requests::release(view, &key, &request),
            )?;
            if request.closing.is_none() {
                watch.released(&key);
            }
            Ok(outcome)
        })
        .await
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let key = Key::new(&self.prefix, name)?;
        self.call(move |store| store.read(|view| requests::read(view, &key)))
            .await
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        if requests.is_empty() {
            return Vec::new();
        }
        let item = |request: &Renew| Ok((Key::new(&self.prefix, &request.name)?, request.clone()));
        let items: Vec<requests::Item> = requests.iter().map(item).collect();
        self.call(move |store| Ok(requests::renew_many(store, &items)))
            .await
            .unwrap_or_else(|error| requests.iter().map(|_| Err(error.clone())).collect())
    }

    /// Hints about names on which somebody was refused through a provider of this file in this
    /// process: at once when a provider of this process releases one, else within a few
    /// milliseconds.
    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        Ok(Some(self.watch.listen(&self.prefix)))
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}

#[async_trait]
impl Admin for SqliteProvider {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        let (prefix, request) = (self.prefix.clone(), request.clone());
        self.call(move |store| store.read(|view| admin::list(view, &prefix, &request)))
            .await
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        let key = Key::new(&self.prefix, &request.name)?;
        let request = request.clone();
        self.call(move |store| {
            store.write(
                |view| view.lease(&key),
                |view| requests::revoke(view, &key, &request),
            )
        })
        .await
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        let key = Key::new(&self.prefix, &request.name)?;
        let request = request.clone();
        self.call(move |store| {
            store.write(
                |view| view.lease(&key),
                |view| requests::ask(view, &key, &request),
            )
        })
        .await
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        let prefix = self.prefix.clone();
        self.call(move |store| store.write(|_| None, |view| admin::purge(view, &prefix, limit)))
            .await
    }
}
