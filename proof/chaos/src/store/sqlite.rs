//! SQLite: a file of the run, which the workers share.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::Provider;
use dlock_sqlite::{OpenError, SqliteProvider};
use rusqlite::{Connection, ErrorCode};
use tokio::{task::spawn_blocking, time::sleep};

use super::{Backend, Blow, Place, Store};
use crate::{cli::Failure, limits::SIGNAL};

pub(super) struct Sqlite;

#[async_trait]
impl Backend for Sqlite {
    async fn start(&self, folder: &Path) -> Result<Box<dyn Store>, Failure> {
        Ok(Box::new(File(folder.join("locks.db"))))
    }

    async fn connect(&self, place: &str) -> Result<Arc<dyn Provider>, Failure> {
        loop {
            let file = PathBuf::from(place);
            match spawn_blocking(move || SqliteProvider::open(file)).await? {
                Ok(provider) => return Ok(Arc::new(provider)),
                // The error says "Try again".
                Err(OpenError::Busy { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The file. This process never opens it as a provider: closing one handle drops the locks of the others. The
/// handle here is SQLite's own.
struct File(PathBuf);

#[async_trait]
impl Store for File {
    fn place(&self) -> Place {
        Place::File(self.0.clone())
    }

    fn blows(&self, longest: Duration) -> Vec<Blow> {
        vec![Blow::Occupy(longest)]
    }

    async fn suffer(&mut self, blow: Blow) -> Result<(), Failure> {
        if let Blow::Occupy(time) = blow {
            let file = self.0.clone();
            // Concurrently with the other hands: a stopped worker may hold the file until a hand lets it continue.
            if let Some(connection) = spawn_blocking(move || occupied(&file)).await?? {
                sleep(time).await;
                connection.execute_batch("ROLLBACK")?;
            }
        }
        Ok(())
    }
}

/// A connection that keeps the file locked. `None` if another process holds it for long: it is occupied all the same.
fn occupied(file: &Path) -> Result<Option<Connection>, rusqlite::Error> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(SIGNAL)?;
    match connection.execute_batch("BEGIN IMMEDIATE") {
        Ok(()) => Ok(Some(connection)),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(None),
        Err(error) => Err(error),
    }
}
