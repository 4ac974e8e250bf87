//! What dlock adds to the file's own reply time: the driver's transaction, the provider's and the
//! frontend's beside each other, in turns.
//!
//! `cargo bench -p dlock-sqlite` prints the medians in microseconds, and fails if the frontend adds
//! more than the larger of 20 microseconds and 5 % to the provider's call.

#![expect(clippy::unwrap_used, reason = "a benchmark ends where it fails")]

use dlock_core::{Acquire, Renew};
use dlock_sqlite::SqliteProvider;
use dlock_testkit::overhead::{Overhead, report};
use rusqlite::{Connection, TransactionBehavior::Immediate};

const READ: &str = "SELECT uuid, renewals, released FROM lock WHERE prefix = '' AND name = ?1";
const RENEW: &str = "UPDATE lock SET renewals = ?2 WHERE prefix = '' AND name = ?1";
// With the times of another record of this run: nothing here waits for an expiry.
const TAKE: &str = "INSERT INTO lock \
    SELECT '', ?1, ?2, 0, 'driver', since, token, duration, 0, 0, NULL, boot, expiry FROM lock \
    WHERE name = 'overhead: raw renewal' \
    ON CONFLICT DO UPDATE SET uuid = excluded.uuid, token = token + 1, released = 0";

// One thread: on several, `main` itself is not on a worker, and each call would pay for its wake-up.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("locks.db");
    let provider = SqliteProvider::open(&file).unwrap();
    let mut connection = Connection::open(&file).unwrap();
    connection
        .pragma_update(None, "synchronous", "NORMAL")
        .unwrap();
    let mut write = |statement: &str, name: &str, value: &dyn rusqlite::ToSql| {
        let transaction = connection.transaction_with_behavior(Immediate).unwrap();
        transaction
            .prepare_cached(READ)
            .unwrap()
            .exists([name])
            .unwrap();
        let mut statement = transaction.prepare_cached(statement).unwrap();
        assert_eq!(statement.execute((name, value)).unwrap(), 1);
        drop(statement);
        transaction.commit().unwrap();
    };

    let overhead = Overhead::new(provider);
    let renewals = overhead.renewals(async |Renew { name, n, .. }| {
        write(RENEW, name.as_str(), &i64::try_from(*n).unwrap());
    });
    let renewals = renewals.await.unwrap();
    let acquires = overhead.acquires(async |Acquire { name, new, .. }| {
        write(TAKE, name.as_str(), &new.to_string());
    });
    report(&[renewals, acquires.await.unwrap()]);
}
