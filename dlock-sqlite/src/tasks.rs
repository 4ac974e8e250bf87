//! A queue in a user's SQLite database, shared by every process of one host: the store of [`dlock_tasks`].
//!
//! Its tables, whose names all begin with `dlock_task`, are in the same database as the user's own. So a task can be
//! enqueued and completed in the transaction that writes the data it is about ([`enqueue_in`](SqliteTasks::enqueue_in),
//! [`complete_in`](SqliteTasks::complete_in)): both are kept, or neither.
//!
//! ```
//! use dlock_sqlite::{
//!     rusqlite::{Connection, TransactionBehavior},
//!     tasks::{SqliteTasks, TransactionError},
//! };
//! use dlock_tasks::NewTask;
//! # fn order(connection: &mut Connection, tasks: &SqliteTasks) -> Result<(), TransactionError> {
//! let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
//! transaction.execute("INSERT INTO purchase (item) VALUES ('book')", [])?;
//! tasks.enqueue_in(&transaction, &[NewTask::builder().kind("invoice").build()])?;
//! transaction.commit()?;
//! # Ok(()) }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("shop.db");
//! # let mut connection = Connection::open(&path)?;
//! # connection.execute_batch("CREATE TABLE purchase (id INTEGER PRIMARY KEY, item TEXT NOT NULL) STRICT")?;
//! # let tasks = SqliteTasks::open(&path)?;
//! # order(&mut connection, &tasks)?;
//! # assert_eq!(connection.query_row("SELECT count(*) FROM dlock_task", [], |row| row.get::<_, i64>(0))?, 1);
//! # Ok(()) }
//! ```
//!
//! An idle worker learns of a task a few milliseconds after the commit that made it ready, by whatever program: a
//! separate thread checks whether the database has changed, as long as the worker waits, and writes nothing.
//!
//! The clock of locks decides that a lease has ended, see the [documentation of the crate](crate): it is the machine's,
//! counts suspends and cannot be set. The wall clock decides when a task falls due.

mod claim;
mod database;
mod ending;
mod failed;
mod heartbeats;
mod limit;
mod pause;
mod periodic;
mod repeat;
mod row;
mod show;
mod transactions;
mod wakeups;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use dlock_core::{
    Provider, ProviderError,
    provider::{Wakeups, is_for_holder},
};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, Count, Ended, Ending, Enqueued, Filter, Kept, LimitedQueue,
    NewTask, PausedQueue, Served, State, Task, TaskId, TaskStore, limits,
};
use serde_json::Value;

pub use self::transactions::TransactionError;
use self::{
    database::{Database, Work},
    heartbeats::Heartbeats,
    wakeups::Looking,
};
use crate::{
    clock::StoreClock,
    error::OpenError,
    store::Failure,
    worker::{Caller, Reader, Worker},
};

/// A queue in one SQLite database. Cheap to clone; clones use one connection, whose calls run one at a time on a shared
/// thread, those of workers that have a task first. With a write-ahead log, which every database that is made here has,
/// reads have their own connection and thread.
///
/// # Cancel safety
/// A future that is dropped while its call is queued has done nothing. One that is dropped later leaves a call that
/// runs to its end.
#[derive(Clone)]
pub struct SqliteTasks {
    /// Declared before the database, so that its connection closes first. `None` if readers and writers wait for each
    /// other.
    reader: Option<Arc<Reader<Database>>>,
    database: Arc<Mutex<Database>>,
    clock: StoreClock,
    worker: Worker,
    path: Arc<Path>,
    beats: Arc<Heartbeats>,
    looking: Looking,
}

/// How long a call waits for other writers of the database.
const BUSY: Duration = Duration::from_secs(5);

impl SqliteTasks {
    /// Opens a database, makes it if it is missing, and makes the tables of the queue if they are missing.
    ///
    /// Blocks the thread for as long as a few file operations take.
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the file and what to do about it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, OpenError> {
        let path = path.into();
        let opened = Database::open(&path, true, BUSY)?;
        // With `true` the call makes whatever is missing, so it does not answer `None`.
        opened.map_or(Err(OpenError::Replaced { path }), Self::of)
    }

    /// Opens an existing queue, and makes nothing: `None` if the database or its tables are missing. For programs that
    /// only read.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn find(path: impl Into<PathBuf>) -> Result<Option<Self>, OpenError> {
        let opened = Database::open(&path.into(), false, BUSY)?;
        opened.map(Self::of).transpose()
    }

    fn of(database: Database) -> Result<Self, OpenError> {
        let path: Arc<Path> = database.path().into();
        let worker = Worker::start().map_err(|error| OpenError::other(&path, error))?;
        let clock = database.clock().clone();
        let reader = database.has_log().then(|| Arc::new(Reader::new()));
        let database = Arc::new(Mutex::new(database));
        let beats = Arc::new(Heartbeats::new(Arc::clone(&database), worker.clone()));
        Ok(Self {
            reader,
            database,
            clock,
            worker,
            path,
            beats,
            looking: Looking::default(),
        })
    }

    /// The absolute path of the database.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs one transaction when its turn comes. `lease`: the lease that it is about, if any; its caller waits for an
    /// answer no longer than a sixth of it.
    async fn write<T: Send + 'static>(
        &self,
        caller: Caller,
        lease: Option<Duration>,
        work: impl FnOnce(Work<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let database = Arc::clone(&self.database);
        self.worker
            .run(caller, move || lock(&database).write(|_| lease, work))
            .await
    }

    /// Reads one state of the database.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(Work<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, ProviderError> {
        if let Some(reader) = self.reader.as_ref().filter(|_| !is_for_holder()) {
            let path = Arc::clone(&self.path);
            let open = move || Database::only_to_read(&path);
            return reader.run(open, |database| database.read(work)).await;
        }
        let database = Arc::clone(&self.database);
        let read = move || lock(&database).read(work);
        self.worker.run(Caller::Other, read).await
    }
}

fn lock(database: &Mutex<Database>) -> std::sync::MutexGuard<'_, Database> {
    database.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The payloads as JSON text.
fn checked(tasks: &[NewTask]) -> Result<Vec<String>, ProviderError> {
    limits::many(tasks.len())?;
    tasks.iter().map(NewTask::check).collect()
}

impl fmt::Debug for SqliteTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteTasks")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TaskStore for SqliteTasks {
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        let texts = checked(tasks)?;
        let tasks = tasks.to_vec();
        self.write(Caller::Other, None, move |work| {
            work.enqueue(&tasks, &texts)
        })
        .await
    }

    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        limits::schedule(schedule)?;
        let text = task.check()?;
        let (schedule, task) = (schedule.to_owned(), task.clone());
        self.write(Caller::Other, None, move |work| {
            work.enqueue_periodic(&schedule, instant, &task, &text)
        })
        .await
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        claim.check()?;
        let (claim, database) = (claim.clone(), Arc::clone(&self.database));
        self.worker
            .run(Caller::Other, move || {
                let database = lock(&database);
                match database.read(|work| work.nothing_until(&claim))? {
                    Some(nothing) => Ok(nothing),
                    None => database.write(|_| Some(claim.lease), |work| work.claim(&claim)),
                }
            })
            .await
    }

    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        limits::many(endings.len())?;
        let check = |ending: &Ending| Ok((ending.clone(), ending.check()?));
        let endings: Vec<(Ending, Option<String>)> = endings
            .iter()
            .map(check)
            .collect::<Result<_, ProviderError>>()?;
        self.write(Caller::Holder, None, move |work| {
            let finish =
                |(ending, text): &(Ending, Option<String>)| work.finish(ending, text.as_deref());
            endings.iter().map(finish).collect()
        })
        .await
    }

    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        let text = limits::checkpoint(checkpoint)?;
        let key = *key;
        self.write(Caller::Holder, None, move |work| {
            work.checkpoint(&key, number, &text)
        })
        .await
    }

    fn claims(&self) -> Arc<dyn Provider> {
        Arc::clone(&self.beats) as Arc<dyn Provider>
    }

    /// Hints about commits of any program, within a few milliseconds.
    async fn watch(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        let opened = self.looking.open(&self.path, claim.clone());
        opened.map(Some).map_err(|error| {
            ProviderError::not_applied("no thread to look for tasks").with_source(error)
        })
    }

    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError> {
        self.write(Caller::Other, None, move |work| work.cancel(id, force))
            .await
    }

    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        self.write(Caller::Other, None, move |work| work.retry(id))
            .await
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        self.read(move |work| work.task(id)).await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        let filter = filter.clone();
        self.read(move |work| work.list(&filter)).await
    }

    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        limits::queue(queue)?;
        let queue = queue.to_owned();
        self.write(Caller::Other, None, move |work| {
            work.set_paused(&queue, paused)
        })
        .await
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        self.read(|work| work.paused()).await
    }

    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        limits::queue(queue)?;
        limits::limit(limit)?;
        let queue = queue.to_owned();
        self.write(Caller::Other, None, move |work| {
            work.set_limit(&queue, limit)
        })
        .await
    }

    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        let limits = self.read(|work| work.limits()).await?.into_iter();
        let limited = |(queue, limit)| LimitedQueue::new(queue, limit);
        Ok(limits.map(limited).collect())
    }

    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        self.read(|work| work.counts()).await
    }

    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        self.write(Caller::Other, None, move |work| work.prune(ages, most))
            .await
    }
}
