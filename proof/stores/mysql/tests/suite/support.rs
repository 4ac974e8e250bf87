//! Functions that the tests share.

use std::time::Duration;

use dlock_core::{Name, ProviderError, provider::Acquire};
use dlock_mysql_proof::Database;
pub(crate) use dlock_proof::stores::{granted, is_held, released, renewed, until};
use mysql_async::{Conn, prelude::Queryable};
use uuid::Uuid;

/// Long enough to outlast any test.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// A try whose lease outlasts the test.
pub(crate) fn term(lock: &str) -> Acquire {
    lasting(lock, LONG)
}

pub(crate) fn lasting(lock: &str, duration: Duration) -> Acquire {
    Acquire::new(Name::new(lock).unwrap(), Uuid::new_v4(), duration).owner("a tést")
}

/// An error with its causes.
pub(crate) fn told(error: &ProviderError) -> String {
    format!("{error} {error:?}")
}

/// The sessions that wait in the server for a row of this database.
pub(crate) async fn blocked(connection: &mut Conn, database: &Database) -> Vec<u64> {
    // `INNODB_TRX` is a cached copy, which is not refreshed while tests read it more often than ten times a second.
    let status = "SHOW ENGINE INNODB STATUS";
    let status: Option<(String, String, String)> = connection.query_first(status).await.unwrap();
    let (_, _, status) = status.unwrap();
    let sessions = format!(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{}'",
        database.name
    );
    let sessions: Vec<u64> = connection.query(sessions).await.unwrap();
    let waiting = status.split("---TRANSACTION ").filter_map(|transaction| {
        let (_, waits) = transaction.split_once("LOCK WAIT")?;
        let (_, session) = waits.split_once(" thread id ")?;
        session.split(',').next()?.parse().ok()
    });
    waiting
        .filter(|session| sessions.contains(session))
        .collect()
}
