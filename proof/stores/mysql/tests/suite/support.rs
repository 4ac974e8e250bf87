//! What the tests share.

use std::time::Duration;

use dlock_core::{
    FencingToken, Name, Provider, ProviderError,
    provider::{Acquire, AcquireOutcome},
};
use dlock_mysql_proof::Database;
use mysql_async::{Conn, prelude::Queryable};
use tokio::time::Instant;
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

/// The token of a try that must be granted.
pub(crate) async fn granted(provider: &impl Provider, request: &Acquire) -> FencingToken {
    match provider.acquire(request).await.unwrap() {
        AcquireOutcome::Acquired(tokens) => tokens.last(),
        other => panic!("{other:?}"),
    }
}

/// Whether a try that must be answered is refused.
pub(crate) async fn is_held(provider: &impl Provider, lock: &str) -> bool {
    let outcome = provider.acquire(&term(lock)).await.unwrap();
    matches!(outcome, AcquireOutcome::Held(_))
}

/// An error with its causes.
pub(crate) fn told(error: &ProviderError) -> String {
    format!("{error} {error:?}")
}

/// How many calls wait in the server for a row of this database.
pub(crate) async fn blocked(connection: &mut Conn, database: &Database) -> u64 {
    let count = format!(
        "SELECT COUNT(*) FROM information_schema.INNODB_TRX AS t JOIN information_schema.PROCESSLIST AS p \
         ON p.ID = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' AND p.DB = '{}'",
        database.name
    );
    let count: Option<u64> = connection.query_first(count).await.unwrap();
    count.unwrap()
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !so().await {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
