//! What dlock adds to the file's own reply time: the driver's transaction, the provider's and the
//! frontend's beside each other, in turns; once with the driver on the caller's thread, and once on a
//! blocking thread, where an async program has to run it. Then what a lease costs in a batch.
//!
//! `cargo bench -p dlock-sqlite --bench overhead` prints the medians in microseconds, and fails if the frontend adds
//! more than the larger of 20 microseconds and 5 % to the provider's call.

#![expect(clippy::unwrap_used, reason = "a benchmark ends where it fails")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use dlock_core::{
    Name, Provider,
    provider::{Acquire, Release, Renew, RenewOutcome},
};
use dlock_proof::overhead::{Overhead, report};
use dlock_sqlite::SqliteProvider;
use rusqlite::{Connection, ToSql, TransactionBehavior::Immediate};
use tokio::{task::spawn_blocking, time::Instant};
use uuid::Uuid;

const READ: &str = "SELECT uuid, renewals, released FROM lock WHERE prefix = '' AND name = ?1";
const RENEW: &str = "UPDATE lock SET renewals = ?2 WHERE prefix = '' AND name = ?1";
// With the times of another record of this run: nothing here waits for an expiry.
const TAKE: &str = "INSERT INTO lock \
    SELECT '', ?1, ?2, 0, 'driver', since, token, duration, 0, 0, NULL, boot, expiry FROM lock \
    WHERE name = 'overhead: raw renewal' \
    ON CONFLICT DO UPDATE SET uuid = excluded.uuid, token = token + 1, released = 0";

/// The driver's transaction on its own connection: a look at the record, then the write.
fn write(connection: &mut Connection, statement: &str, name: &str, value: &dyn ToSql) {
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
}

/// Where the driver's statements run.
#[derive(Clone, Copy)]
enum Driver {
    /// On the caller's thread, which an async program must not block.
    Here,
    /// Where an async program has them run.
    BlockingThread,
}

async fn drive(
    driver: Driver,
    connection: &Arc<Mutex<Connection>>,
    statement: &'static str,
    name: &Name,
    value: impl ToSql + Send + 'static,
) {
    let (connection, name) = (Arc::clone(connection), name.clone());
    let work = move || {
        write(
            &mut connection.lock().unwrap(),
            statement,
            name.as_str(),
            &value,
        );
    };
    match driver {
        Driver::Here => work(),
        Driver::BlockingThread => spawn_blocking(work).await.unwrap(),
    }
}

// One thread: on several, `main` itself is not on a worker, and each call would pay for its wake-up.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("locks.db");
    let provider = SqliteProvider::open(&file).unwrap();
    let connection = Connection::open(&file).unwrap();
    connection
        .pragma_update(None, "synchronous", "NORMAL")
        .unwrap();
    let connection = Arc::new(Mutex::new(connection));
    let overhead = Overhead::new(provider.clone());
    for (what, driver) in [
        ("the driver on the caller's thread", Driver::Here),
        ("the driver on a blocking thread", Driver::BlockingThread),
    ] {
        println!("{what}");
        let renewals = overhead.renewals(async |Renew { name, n, .. }| {
            let n = i64::try_from(*n).unwrap();
            drive(driver, &connection, RENEW, name, n).await;
        });
        let renewals = renewals.await.unwrap();
        for name in ["raw renewal", "renewal"] {
            let name = Name::new(format!("overhead: {name}")).unwrap();
            let uuid = provider.read(&name).await.unwrap().unwrap().uuid;
            provider
                .release(&Release::new(name, uuid, None))
                .await
                .unwrap();
        }
        let acquires = overhead.acquires(async |Acquire { name, new, .. }| {
            drive(driver, &connection, TAKE, name, new.to_string()).await;
        });
        report(&[renewals, acquires.await.unwrap()]);
    }
    for leases in [1000, 10_000] {
        batch(&provider, leases).await;
    }
}

/// Renewals of many leases in one trip: the median of a few, for each lease.
async fn batch(provider: &SqliteProvider, leases: u32) {
    const TRIPS: u64 = 15;
    let mut requests = Vec::new();
    for number in 0..leases {
        let name = Name::new(format!("batch of {leases}: {number}")).unwrap();
        let request = Acquire::new(name, Uuid::new_v4(), Duration::from_secs(3600));
        provider.acquire(&request).await.unwrap();
        requests.push(Renew::new(request.name, request.new, 0));
    }
    let mut times = Vec::new();
    for trip in 1..=TRIPS {
        for request in &mut requests {
            request.n = trip;
        }
        let began = Instant::now();
        let answers = provider.renew_many(&requests).await;
        times.push(began.elapsed());
        assert!(
            answers
                .iter()
                .all(|a| matches!(a, Ok(RenewOutcome::Renewed { .. })))
        );
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    println!(
        "renew_many of {leases}: {:?}, {:?} a lease",
        median,
        median / leases
    );
}
