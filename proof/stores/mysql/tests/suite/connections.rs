//! Connections: those of dropped calls, the one that waiters leave to holders, the socket that is not queried.

use std::{iter, time::Duration};

use dlock_core::{
    ErrorKind, Provider,
    provider::{Renew, RenewOutcome},
};
use dlock_mysql_proof::{provider, server};
use dlock_testkit::proxy::{Fault, Proxy};
use mysql_async::prelude::Queryable;
use tokio::task::JoinSet;

use crate::support::{LONG, blocked, granted, renewed, term, until};

/// Each dropped call waits in the server for a row. Its place in the pool is free at once, and its answer reaches no
/// other call.
#[tokio::test]
async fn dropped_call_closes_its_connection_and_leaves_its_place() {
    let database = server().await.database().await;
    let ours = database.provider(1).await;
    let (a, b) = (term("locked"), term("free"));
    granted(&ours, &a).await;
    granted(&ours, &b).await;
    let mut other = database.connection().await;
    other.query_drop("BEGIN").await.unwrap();
    other
        .query_drop("SELECT * FROM dlock_lock WHERE prefix = '' AND name = 'locked' FOR UPDATE")
        .await
        .unwrap();
    let mut watcher = database.connection().await;
    let mut n = 0;
    // This has to happen before the server gives up the dropped call, for which a busy machine may be too slow.
    until(
        "a call is answered while the dropped one waits",
        async || {
            n += 1;
            let renew = Renew::new(a.name.clone(), a.new, n);
            // Earlier dropped calls may still wait.
            let before = blocked(&mut watcher, &database).await;
            let mut session = None;
            let waits = until("it waits", async || {
                let mut blocked = blocked(&mut watcher, &database).await.into_iter();
                session = blocked.find(|session| !before.contains(session));
                session.is_some()
            });
            tokio::select! {
                renewed = ours.renew(&renew) => match renewed {
                    Err(error) if error.kind() == ErrorKind::NotApplied => return false,
                    other => panic!("the row is not locked: {other:?}"),
                },
                () = waits => {}
            }
            renewed(&ours, &b, n).await;
            let blocked = blocked(&mut watcher, &database).await;
            let beside = blocked.into_iter().any(|still| Some(still) == session);
            let record = ours.read(&b.name).await.unwrap().unwrap();
            assert_eq!((record.uuid, record.renewals), (b.new, n));
            beside && n >= 5
        },
    )
    .await;
    other.query_drop("ROLLBACK").await.unwrap();
    // The connections are closed, not merely forgotten: only the pool's one and the two of this test remain.
    let count = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{}'",
        database.name
    );
    until("the dropped connections are closed", async || {
        let open: Option<u64> = other.query_first(&count).await.unwrap();
        open.unwrap() <= 3
    })
    .await;
}

/// A lost answer never comes. The pool has one place, which the next call gets.
#[tokio::test]
async fn call_that_nobody_answers_leaves_its_place() {
    let database = server().await.database().await;
    database.provider(1).await;
    let proxy = Proxy::start(database.address).await.unwrap();
    let ours = provider(database.through(proxy.address(), 1), LONG / 20);
    let a = term("door");
    granted(&ours, &a).await;
    for n in 1..=3_u8 {
        let renew = Renew::new(a.name.clone(), a.new, n.into());
        proxy.next(Fault::LoseReply);
        tokio::select! {
            biased;
            renewed = ours.renew(&renew) => panic!("an answer came: {renewed:?}"),
            () = proxy.until_struck(n.into()) => {}
        }
        let repeated = ours.renew(&renew).await.unwrap();
        assert_eq!(repeated, RenewOutcome::Renewed { asked: false });
    }
}

#[tokio::test]
async fn waiters_leave_a_connection_to_the_holder() {
    let database = server().await.database().await;
    database.provider(1).await;
    let ours = provider(database.options(3), LONG / 10);
    let a = term("held");
    granted(&ours, &a).await;
    let (x, y) = (term("x"), term("y"));
    let mut other = database.connection().await;
    for request in [&x, &y] {
        granted(&ours, request).await;
    }
    database
        .run("UPDATE dlock_lock SET released = 1 WHERE name <> 'held'")
        .await;
    other.query_drop("BEGIN").await.unwrap();
    other
        .query_drop("SELECT * FROM dlock_lock WHERE prefix = '' AND name IN ('x', 'y') FOR UPDATE")
        .await
        .unwrap();
    let mut waiting = JoinSet::new();
    // In pairs, one after another, they would wait for a minute.
    for number in 0..60 {
        let (ours, request) = (ours.clone(), term(if number % 2 == 0 { "x" } else { "y" }));
        waiting.spawn(async move { ours.acquire(&request).await });
    }
    until("two calls wait for the rows", async || {
        blocked(&mut other, &database).await.len() == 2
    })
    .await;
    renewed(&ours, &a, 1).await;
    // Behind all of them the renewal would have been the last call.
    let ended = iter::from_fn(|| waiting.try_join_next()).count();
    assert!(ended < 40, "no connection is left to the holder: {ended}");
    other.query_drop("ROLLBACK").await.unwrap();
    waiting.join_all().await;
}

/// With a tunnel in between, the path of the server's socket file may lead to another server.
#[tokio::test]
async fn socket_that_the_server_names_is_not_asked_for() {
    let database = server().await.database().await;
    database.provider(1).await;
    let ours = provider(
        database.options(1).prefer_socket(true),
        Duration::from_secs(20),
    );
    granted(&ours, &term("door")).await;
    let mut other = database.connection().await;
    let hosts: Vec<String> = other
        .query(format!(
            "SELECT HOST FROM information_schema.PROCESSLIST WHERE DB = '{}'",
            database.name
        ))
        .await
        .unwrap();
    assert!(
        hosts.len() > 1 && hosts.iter().all(|host| host.starts_with("127.0.0.1:")),
        "{hosts:?}"
    );
}

#[tokio::test]
async fn no_connection_in_time_is_not_applied() {
    let database = server().await.database().await;
    database.provider(1).await;
    // It accepts connections, and never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let ours = provider(database.through(address, 2), Duration::from_millis(300));
    let error = ours.acquire(&term("door")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
}
