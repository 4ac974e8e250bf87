//! SQLite: a file of the run, which the workers share.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::Provider;
use dlock_sqlite::{OpenError, SqliteProvider};
use rusqlite::Connection;
use tokio::{task::spawn_blocking, time::sleep};

use super::{Blow, Place, Store};
use crate::{cli::Failure, limits::SIGNAL};

/// The file. This process never opens it as a provider: closing one handle of it drops the locks of
/// the others, and the one here is SQLite's own.
pub(super) struct File(PathBuf);

impl File {
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.join("locks.db"))
    }
}

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
            let connection = Connection::open(&self.0)?;
            connection.busy_timeout(SIGNAL)?;
            connection.execute_batch("BEGIN IMMEDIATE")?;
            sleep(time).await;
            connection.execute_batch("ROLLBACK")?;
        }
        Ok(())
    }
}

pub(super) async fn provider(file: &Path) -> Result<Arc<dyn Provider>, Failure> {
    loop {
        let file = file.to_owned();
        match spawn_blocking(move || SqliteProvider::open(file)).await? {
            Ok(provider) => return Ok(Arc::new(provider)),
            // "Try again", it says.
            Err(OpenError::Busy { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
