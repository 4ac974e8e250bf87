//! One SQLite file for the locks, and one for the storage.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use dlock::{
    FencingToken, Provider, Stale,
    sqlite::{
        SqliteProvider,
        fence::{Fence, FenceError},
        rusqlite::{Connection, OptionalExtension, TransactionBehavior},
    },
};
use tempfile::TempDir;

use super::{Storage, Store};
use crate::Failure;

pub(super) struct Sqlite {
    locks: PathBuf,
    /// Deleted with this.
    _folder: Option<TempDir>,
}

impl Sqlite {
    /// The file at this path, or a temporary one.
    pub(super) fn new(path: &str) -> Result<Self, Failure> {
        if !path.is_empty() {
            return Ok(Self {
                locks: path.into(),
                _folder: None,
            });
        }
        let folder = tempfile::tempdir()?;
        Ok(Self {
            locks: folder.path().join("locks.db"),
            _folder: Some(folder),
        })
    }
}

#[async_trait]
impl Store for Sqlite {
    async fn provider(&self) -> Result<Arc<dyn Provider>, Failure> {
        Ok(Arc::new(SqliteProvider::open(&self.locks)?))
    }

    async fn storage(&self, page: &str) -> Result<Box<dyn Storage>, Failure> {
        let mut path = self.locks.clone().into_os_string();
        path.push("-pages");
        let connection = Connection::open(path)?;
        let fence = Fence::new("fence");
        fence.create_schema(&connection)?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS page (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT",
        )?;
        Ok(Box::new(Pages {
            connection: Arc::new(Mutex::new(connection)),
            fence,
            page: page.to_owned(),
        }))
    }
}

struct Pages {
    connection: Arc<Mutex<Connection>>,
    fence: Fence,
    page: String,
}

impl Pages {
    /// SQLite blocks, so it gets a thread for that.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let connection = Arc::clone(&self.connection);
        let working = tokio::task::spawn_blocking(move || {
            work(&mut connection.lock().unwrap_or_else(PoisonError::into_inner))
        });
        Ok(working.await?)
    }
}

#[async_trait]
impl Storage for Pages {
    async fn write(&self, token: FencingToken, text: &str) -> Result<Result<(), Stale>, Failure> {
        let (fence, page, text) = (self.fence.clone(), self.page.clone(), text.to_owned());
        let write = move |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            fence.check(&transaction, &page, token)?;
            transaction.execute("INSERT OR REPLACE INTO page VALUES (?1, ?2)", [page, text])?;
            transaction.commit()?;
            Ok(())
        };
        match self.with(write).await? {
            Ok(()) => Ok(Ok(())),
            Err(FenceError::Stale(stale)) => Ok(Err(stale)),
            Err(other) => Err(other.into()),
        }
    }

    async fn read(&self) -> Result<Option<String>, Failure> {
        let page = self.page.clone();
        let read = move |connection: &mut Connection| {
            connection
                .query_row("SELECT text FROM page WHERE name = ?1", [page], |row| {
                    row.get(0)
                })
                .optional()
        };
        Ok(self.with(read).await??)
    }
}
