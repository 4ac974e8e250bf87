//! A row, or the whole table, that another client keeps locked.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Name, Provider,
    provider::{Acquire, AcquireOutcome, Admin, List, Release, Renew, RenewOutcome},
};
use dlock_mysql::MysqlProvider;
use dlock_mysql_proof::{Database, server};
use mysql_async::{Conn, prelude::Queryable};
use tokio::{task::JoinHandle, time::Instant};

use crate::support::{blocked, granted, is_held, lasting, released, renewed, term, told, until};

/// Locks the row of a name until it commits.
async fn locked(database: &Database, name: &Name) -> Conn {
    let mut connection = database.connection().await;
    connection.query_drop("BEGIN").await.unwrap();
    let lock = format!("SELECT * FROM dlock_lock WHERE prefix = '' AND name = '{name}' FOR UPDATE");
    connection.query_drop(lock).await.unwrap();
    connection
}

/// Waits until the call waits in the server.
async fn until_blocked<T>(call: &JoinHandle<T>, database: &Database) {
    let mut watcher = database.connection().await;
    until("the call waits", async || {
        assert!(!call.is_finished(), "it does not wait");
        !blocked(&mut watcher, database).await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn who_only_looks_does_not_wait_and_who_writes_waits_two_seconds() {
    let database = server().await.database().await;
    let ours = database.provider(4).await;
    let a = term("door");
    granted(&ours, &a).await;
    granted(&ours, &term("beside")).await;
    let mut other = locked(&database, &a.name).await;
    // A call that waited would end in an error, since the row stays locked for longer than any call waits.
    for _ in 0..3 {
        assert!(is_held(&ours, "door").await);
        assert!(ours.read(&a.name).await.unwrap().is_some());
        assert_eq!(ours.purge(10).await.unwrap(), 0);
        // N1: a waiter that would have to wait for its mark leaves none.
        assert_eq!(marked(&ours, "door").await, 0);
    }
    assert!(is_held(&ours, "beside").await);

    let renew = Renew::new(a.name.clone(), a.new, 1);
    let began = Instant::now();
    let error = ours.renew(&renew).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    assert!(
        told(&error).contains("keeps the lock's row locked"),
        "{error:?}"
    );
    assert!(began.elapsed() > Duration::from_millis(1500));
    other.query_drop("COMMIT").await.unwrap();
    // The call that gave up keeps no row locked itself.
    renewed(&ours, &a, 1).await;
    assert_eq!(ours.read(&a.name).await.unwrap().unwrap().renewals, 1);
    assert_eq!(marked(&ours, "door").await, 7);
}

/// A refused try that is to leave a mark; returns the mark in the record that it shows.
async fn marked(provider: &MysqlProvider, name: &str) -> u32 {
    match provider.acquire(&term(name).marks(7)).await.unwrap() {
        AcquireOutcome::Held(record) => record.wanted,
        other => panic!("it is held: {other:?}"),
    }
}

/// The clock that decides is read after the wait: a lease that ended meanwhile has ended.
#[tokio::test]
async fn renewal_that_waited_past_the_end_of_its_lease_is_lost() {
    let database = server().await.database().await;
    let ours = database.provider(4).await;
    let a = term("door");
    granted(&ours, &a).await;
    let mut other = locked(&database, &a.name).await;
    let renew = Renew::new(a.name.clone(), a.new, 1);
    let waiting = tokio::spawn({
        let ours = ours.clone();
        async move { ours.renew(&renew).await }
    });
    until_blocked(&waiting, &database).await;
    // When the wait began, the lease had not ended yet.
    let end = "UPDATE dlock_lock SET expiry = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) \
        WHERE prefix = '' AND name = 'door'";
    other.query_drop(end).await.unwrap();
    other.query_drop("COMMIT").await.unwrap();
    let outcome = waiting.await.unwrap().unwrap();
    assert!(
        matches!(outcome, RenewOutcome::Lost(Some(_))),
        "{outcome:?}"
    );
    assert_eq!(ours.read(&a.name).await.unwrap().unwrap().renewals, 0);
}

/// A grant that waited lasts for as long as requested.
#[tokio::test]
async fn grant_that_waited_lasts_from_when_it_was_made() {
    let database = server().await.database().await;
    let ours = database.provider(4).await;
    let a = term("door");
    granted(&ours, &a).await;
    released(&ours, &a).await;
    let mut other = locked(&database, &a.name).await;
    let b = lasting("door", Duration::from_secs(30));
    let waiting = tokio::spawn({
        let (ours, b) = (ours.clone(), b.clone());
        async move { ours.acquire(&b).await }
    });
    until_blocked(&waiting, &database).await;
    let clock: Option<u64> = other
        .query_first("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))")
        .await
        .unwrap();
    other.query_drop("COMMIT").await.unwrap();
    let outcome = waiting.await.unwrap().unwrap();
    let AcquireOutcome::Acquired(tokens) = outcome else {
        panic!("{outcome:?}");
    };
    let token = tokens.last();
    assert!(
        token.get() >= clock.unwrap(),
        "it read the clock before the wait"
    );
}

/// The sessions of abandoned calls do not pile up in the server.
#[tokio::test]
async fn calls_that_were_given_up_wait_no_longer_for_a_locked_table() {
    let database = server().await.database().await;
    let ours = database.provider(8).await;
    let a = term("door");
    granted(&ours, &a).await;
    let mut other = database.connection().await;
    other
        .query_drop("LOCK TABLES dlock_lock WRITE")
        .await
        .unwrap();
    let mut watcher = database.connection().await;
    let waiting = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
         WHERE DB = '{}' AND STATE = 'Waiting for table metadata lock'",
        database.name
    );
    macro_rules! calls {
        ($($call:expr,)*) => {
            [$({
                let (ours, a) = (ours.clone(), a.clone());
                tokio::spawn(async move { $call(ours, a).await })
            }),*]
        };
    }
    let calls: [JoinHandle<bool>; 6] = calls![
        async |ours: MysqlProvider, _| ours.acquire(&term("free")).await.is_ok(),
        async |ours: MysqlProvider, a: Acquire| {
            ours.renew(&Renew::new(a.name, a.new, 1)).await.is_ok()
        },
        async |ours: MysqlProvider, a: Acquire| {
            let release = Release::new(a.name, a.new, None);
            ours.release(&release).await.is_ok()
        },
        async |ours: MysqlProvider, a: Acquire| ours.read(&a.name).await.is_ok(),
        async |ours: MysqlProvider, _| ours.list(&List::new("")).await.is_ok(),
        async |ours: MysqlProvider, _| ours.purge(10).await.is_ok(),
    ];
    until("the calls wait for the table", async || {
        let found: Option<usize> = watcher.query_first(&waiting).await.unwrap();
        found == Some(calls.len())
    })
    .await;
    for call in &calls {
        call.abort();
    }
    until("no session waits, and the table is locked", async || {
        let found: Option<usize> = watcher.query_first(&waiting).await.unwrap();
        found == Some(0)
    })
    .await;
    other.query_drop("UNLOCK TABLES").await.unwrap();
    renewed(&ours, &a, 2).await;
}
