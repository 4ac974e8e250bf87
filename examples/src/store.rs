//! Choosing a store by its URL, and storage that refuses stale tokens.

use std::sync::Arc;

use dlock::{
    FencingToken, Provider, Stale,
    sqlite::{
        fence::{Fence, FenceError},
        rusqlite::{Connection, OptionalExtension, TransactionBehavior},
    },
};
use dlock_stores::{Location, Program};
use tempfile::TempDir;

use crate::Failure;

static PROGRAM: Program = Program {
    name: "example",
    folder: "examples",
    set_up: "every example makes what it needs",
    set_up_queue: "every example makes what it needs",
    serves_many: false,
    warn: |warning| eprintln!("{warning}"),
};

/// The location of a store.
#[derive(Debug)]
pub struct Store {
    location: Location,
    /// Deleted when this value is dropped.
    _folder: Option<TempDir>,
}

impl Store {
    /// The store with this URL; without one, an SQLite file that is deleted when the value is dropped.
    ///
    /// # Errors
    /// If the kind of store is unknown, or not in this build.
    pub fn choose(url: Option<String>) -> Result<Self, Failure> {
        let (url, folder) = shared(url)?;
        Ok(Self {
            location: dlock_stores::locate(&PROGRAM, Some(url.as_ref()))?,
            _folder: folder,
        })
    }

    /// A provider with its own connections, as another process would have.
    ///
    /// # Errors
    /// If the store cannot be opened, or does not answer.
    pub async fn provider(&self) -> Result<Arc<dyn Provider>, Failure> {
        let store = self.location.open().await?;
        // Applications do this once, at installation.
        store.set_up().await?;
        let provider: Arc<dyn Provider> =
            Arc::<dyn dlock::provider::Admin>::clone(store.provider());
        Ok(provider)
    }
}

/// The URL of a store that other processes can open too: the given one, or else that of an SQLite file, which is
/// deleted when the second value is dropped.
///
/// # Errors
/// If there is no space for the file.
pub fn shared(url: Option<String>) -> Result<(String, Option<TempDir>), Failure> {
    if let Some(url) = url {
        return Ok((url, None));
    }
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite:{}", folder.path().join("locks.db").display());
    Ok((url, Some(folder)))
}

/// One page of text in storage that checks fencing tokens (T3): a database in memory. Only one lock may guard it, since
/// tokens of two locks have no order.
#[derive(Debug)]
pub struct Storage {
    database: Connection,
    fence: Fence,
}

impl Storage {
    /// Storage without a page.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn new() -> Result<Self, Failure> {
        let database = Connection::open_in_memory()?;
        let fence = Fence::new("fence");
        fence.create_schema(&database)?;
        database.execute_batch("CREATE TABLE page (text TEXT NOT NULL) STRICT")?;
        Ok(Self { database, fence })
    }

    /// Writes the page, unless a later holder has written it: that is the inner error.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn write(&mut self, token: FencingToken, text: &str) -> Result<Result<(), Stale>, Failure> {
        let transaction = self
            .database
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        match self.fence.check(&transaction, "page", token) {
            Ok(()) => {}
            Err(FenceError::Stale(stale)) => return Ok(Err(stale)),
            Err(other) => return Err(other.into()),
        }
        transaction.execute("DELETE FROM page", ())?;
        transaction.execute("INSERT INTO page VALUES (?1)", [text])?;
        transaction.commit()?;
        Ok(Ok(()))
    }

    /// The page, if there is one.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn read(&self) -> Result<Option<String>, Failure> {
        let page = "SELECT text FROM page";
        let page = self.database.query_row(page, (), |row| row.get(0));
        Ok(page.optional()?)
    }
}
