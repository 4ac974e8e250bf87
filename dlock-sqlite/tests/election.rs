//! Elections on the embedded store. It has no network: an instance is separated from it between its
//! provider and the election.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{net::SocketAddr, time::Duration};

use dlock_proof::election::Electorate;
use dlock_sqlite::SqliteProvider;
use tempfile::TempDir;

pub(crate) struct Sqlite(TempDir);

impl Electorate for Sqlite {
    type Provider = SqliteProvider;

    async fn start() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn server(&self) -> Option<SocketAddr> {
        None
    }

    async fn provider(&self, _: Option<SocketAddr>, _: Duration) -> SqliteProvider {
        SqliteProvider::open(self.0.path().join("locks.db")).unwrap()
    }
}

dlock_proof::election_stories!(Sqlite);
