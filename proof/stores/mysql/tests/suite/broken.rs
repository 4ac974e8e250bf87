//! A server that is killed, gone, or silent.

use std::time::Duration;

use dlock_core::{
    DLock, ErrorKind, Provider,
    provider::{Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_mysql_proof::{Server, provider};
use tokio::time::timeout;

use crate::support::{LONG, granted, is_held, term, until};

/// With the server's own default for flushing commits.
#[tokio::test]
async fn acknowledged_writes_survive_a_server_that_is_killed() {
    let mut server = Server::start(&["--innodb-flush-log-at-trx-commit=1"]).await;
    let database = server.database().await;
    let ours = database.provider(2).await;
    let a = term("door");
    let token = granted(&ours, &a).await;
    for n in 1..=3 {
        let renew = Renew::new(a.name.clone(), a.new, n);
        let renewed = ours.renew(&renew).await.unwrap();
        assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
        server.restart().await;
        let other = database.provider(1).await;
        let record = other.read(&a.name).await.unwrap().unwrap();
        assert_eq!(
            (record.uuid, record.renewals, record.token),
            (a.new, n, token)
        );
        assert!(is_held(&other, "door").await);
        // The first calls may meet broken connections.
        until("the old connections are replaced", async || {
            match ours.read(&a.name).await {
                Ok(record) => record.is_some(),
                Err(error) => {
                    assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}");
                    false
                }
            }
        })
        .await;
    }
    let release = Release::new(a.name.clone(), a.new, Some(token));
    assert_eq!(
        ours.release(&release).await.unwrap(),
        ReleaseOutcome::Released
    );
}

/// A holder does not notice, and neither does the one that waits for it.
#[tokio::test]
async fn guard_survives_a_server_that_is_killed() {
    let mut server = Server::start(&[]).await;
    let database = server.database().await;
    let lock = |provider| {
        let lock = DLock::builder()
            .name("door")
            .duration(Duration::from_secs(60))
            .renew_every(Duration::from_secs(3));
        lock.provider(provider).build().unwrap()
    };
    let guard = lock(database.provider(2).await).hold().await.unwrap();
    let waiting = lock(database.provider(2).await);
    let waiter = tokio::spawn(async move { waiting.acquire().await });
    let door = term("door").name;
    for _ in 0..3 {
        server.restart().await;
        let direct = database.provider(1).await;
        let renewals = async || direct.read(&door).await.unwrap().unwrap().renewals;
        let before = renewals().await;
        until("it is renewed", async || renewals().await > before).await;
        assert!(guard.is_valid(), "{:?}", guard.state());
        assert!(!waiter.is_finished());
    }
    let token = guard.token();
    guard.release().await.unwrap();
    let next = timeout(LONG, waiter).await.unwrap();
    let next = next.unwrap().unwrap();
    assert!(next.token() > token);
    next.release().await.unwrap();
}

#[tokio::test]
async fn server_that_is_not_there_is_said_so_at_once() {
    let gone = Server::start(&[]).await.database().await;
    let ours = provider(gone.options(2), Duration::from_secs(20));
    for _ in 0..3 {
        let error = ours.acquire(&term("door")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
        let error = ours.read(&term("door").name).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    }
}

/// It stands still, and goes on: the answer is not known, and the next one is right.
#[tokio::test]
async fn silent_server_leaves_it_unknown() {
    let mut server = Server::start(&[]).await;
    let database = server.database().await;
    let patient = database.provider(2).await;
    let hasty = provider(database.options(1), Duration::from_millis(500));
    let a = term("door");
    until("a connection is open", async || {
        hasty.read(&a.name).await.is_ok()
    })
    .await;
    server.freeze().await;
    let error = hasty.acquire(&a).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    server.go_on();
    granted(&patient, &a).await;
}

/// A replica, or a server that was set so, refuses to write, and is asked again.
#[tokio::test]
async fn server_that_is_read_only_is_not_applied() {
    let server = Server::start(&["--read-only=1"]).await;
    let database = server.database().await;
    database.provider(1).await;
    database
        .run("CREATE USER app; GRANT ALL ON *.* TO app; REVOKE READ_ONLY ADMIN ON *.* FROM app; REVOKE SUPER ON *.* FROM app")
        .await;
    let ours = provider(
        database.options(2).user(Some("app")),
        Duration::from_secs(20),
    );
    let error = ours.acquire(&term("door")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    assert!(format!("{error}").contains("read-only"), "{error:?}");
    database.run("SET GLOBAL read_only = 0").await;
    granted(&ours, &term("door")).await;
}

/// Such a server writes nothing with the level that the procedures need, and says so.
#[tokio::test]
async fn log_of_statements_is_refused_with_what_to_set() {
    let server = Server::start(&[
        "--log-bin=log",
        "--server-id=1",
        "--binlog-format=STATEMENT",
    ])
    .await;
    let database = server.database().await;
    let ours = database.provider(1).await;
    let error = ours.acquire(&term("door")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(format!("{error}").contains("binlog_format"), "{error:?}");
}
