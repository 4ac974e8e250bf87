//! A table that another session keeps locked: the sessions of calls that were given up do not pile up in the server,
//! over whichever connection they came.

use std::time::Duration;

use dlock_core::{
    Provider,
    provider::{Acquire, Admin, List, Release, Renew},
};
use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::{Manager, Pool, tokio_postgres::NoTls},
};
use dlock_test_servers::postgres::pgbouncer;
use tokio::task::{JoinHandle, JoinSet};

use crate::support::{PATIENCE, Server, Table, local, name, pool, server, term, until};

/// One of each kind of call.
fn calls(provider: &PostgresProvider, held: &Acquire) -> Vec<JoinHandle<()>> {
    macro_rules! calls {
        ($($call:expr;)*) => {
            vec![$({
                let call = $call;
                let (provider, held) = (provider.clone(), held.clone());
                tokio::spawn(async move { call(provider, held).await })
            }),*]
        };
    }
    calls![
        async |provider: PostgresProvider, _| drop(provider.acquire(&term("free")).await);
        async |provider: PostgresProvider, held: Acquire| {
            drop(provider.renew(&Renew::new(held.name, held.new, 1)).await);
        };
        async |provider: PostgresProvider, held: Acquire| {
            drop(provider.renew_many(&[Renew::new(held.name, held.new, 2)]).await);
        };
        async |provider: PostgresProvider, held: Acquire| {
            drop(provider.release(&Release::new(held.name, held.new, None)).await);
        };
        async |provider: PostgresProvider, held: Acquire| drop(provider.read(&held.name).await);
        async |provider: PostgresProvider, _| drop(provider.list(&List::new("")).await);
        async |provider: PostgresProvider, _| drop(provider.purge(10).await);
    ]
}

/// Gives up calls while the table is locked, over connections that were used before and over new ones.
async fn given_up(server: &Server, table: &Table, ways: &Pool, prepared: Option<bool>) {
    let provider = PostgresProvider::builder()
        .pool(ways.clone())
        .schema(table.schema())
        // Long enough for all of them to wait in the server at one time; the test waits for that.
        .call_timeout(Duration::from_secs(10))
        .prepared_opt(prepared)
        .build()
        .unwrap();
    let held = term("held");
    provider.acquire(&held).await.unwrap();
    // As many connections as there will be calls.
    let mut warm = JoinSet::new();
    for _ in 0..ways.status().max_size {
        let provider = provider.clone();
        warm.spawn(async move { provider.read(&name("any")).await });
    }
    for read in warm.join_all().await {
        read.unwrap();
    }
    server.wait_for_rows(table.schema()).await;
    let locker = server.client().await;
    let lock = format!("BEGIN; LOCK TABLE \"{}\".lock", table.schema());
    locker.batch_execute(&lock).await.unwrap();
    for _ in 0..2 {
        let calls = calls(&provider, &held);
        until("the calls wait for the table", async || {
            server.blocked(table.schema()).await.len() == calls.len()
        })
        .await;
        for call in &calls {
            call.abort();
        }
        until("no session waits, and the table is locked", async || {
            server.blocked(table.schema()).await.is_empty()
        })
        .await;
    }
    locker.batch_execute("ROLLBACK").await.unwrap();
    provider.acquire(&held).await.unwrap();
}

#[tokio::test]
async fn calls_that_were_given_up_leave_no_session_waiting() {
    for prepared in [None, Some(true), Some(false)] {
        let table = Table::create().await;
        given_up(server().await, &table, &server().await.pool(8), prepared).await;
    }
}

#[tokio::test]
async fn calls_that_were_given_up_leave_no_session_waiting_behind_a_pooler() {
    let server = Server::start(&[]).await;
    let pooler = pgbouncer(server.port(), 8).await.unwrap();
    let table = Table::create_over(server.pool(1)).await;
    given_up(
        &server,
        &table,
        &pool(local(pooler.place().port()), 8),
        None,
    )
    .await;
}

#[tokio::test]
async fn schema_that_is_given_up_leaves_no_session_waiting() {
    let server = Server::start(&[]).await;
    let locker = server.client().await;
    // Like sessions that make a schema at the same time.
    let lock = "BEGIN; SELECT pg_advisory_xact_lock(431315968875)";
    locker.batch_execute(lock).await.unwrap();
    let manager = Manager::new(server.config(), NoTls);
    let provider = PostgresProvider::builder()
        .pool(Pool::builder(manager).max_size(1).build().unwrap())
        .call_timeout(PATIENCE)
        .build()
        .unwrap();
    let making = tokio::spawn(async move { provider.create_schema().await });
    until("it waits for the others", async || {
        server.blocked("pg_advisory_xact_lock").await.len() == 1
    })
    .await;
    making.abort();
    until("no session waits, and the lock is held", async || {
        server.blocked("pg_advisory_xact_lock").await.is_empty()
    })
    .await;
    locker.batch_execute("ROLLBACK").await.unwrap();
}
