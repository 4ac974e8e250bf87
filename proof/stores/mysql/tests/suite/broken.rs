//! A server that is killed, gone, or silent.

use std::time::Duration;

use dlock_core::{ErrorKind, Provider};
use dlock_mysql_proof::{Server, provider};
use dlock_proof::stores::{self, granted, until_answered};

use crate::support::term;

/// With the server's own default for flushing commits.
#[tokio::test]
async fn acknowledged_writes_survive_a_server_that_is_killed() {
    let server = Server::start(&["--innodb-flush-log-at-trx-commit=1"]).await;
    let database = server.database().await;
    let connect = async |_: &Server| database.provider(2).await;
    stores::acknowledged_writes_survive_a_server_that_is_killed(server, connect, Server::restart)
        .await;
}

#[tokio::test]
async fn guard_survives_a_server_that_is_killed() {
    let server = Server::start(&[]).await;
    let database = server.database().await;
    let connect = async |_: &Server| database.provider(2).await;
    stores::guard_survives_a_server_that_is_killed(server, connect, Server::restart).await;
}

#[tokio::test]
async fn server_that_is_not_there_is_said_so_at_once() {
    let gone = Server::start(&[]).await.database().await;
    let provider = provider(gone.options(2), Duration::from_secs(20));
    stores::server_that_is_not_there_is_said_so_at_once(provider).await;
}

/// The server stops and continues: the outcome of the call is unknown, and the next answer is right.
#[tokio::test]
async fn silent_server_leaves_it_unknown() {
    let mut server = Server::start(&[]).await;
    let database = server.database().await;
    let patient = database.provider(2).await;
    let hasty = provider(database.options(1), Duration::from_millis(500));
    let a = term("door");
    until_answered(&hasty).await;
    server.freeze().await;
    let error = hasty.acquire(&a).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    server.signal("CONT");
    granted(&patient, &a).await;
}

/// A replica, or a server with such a setting, refuses to write, and is called again.
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

/// Such a server writes nothing at the isolation level that the procedures need, and reports that.
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
