//! Connections: those that did not answer are closed, one is left to holders, and rows that other
//! sessions keep locked do not hold up calls for ever.

use std::time::Duration;

use dlock_core::{
    DLock, Error, ErrorKind, Provider, ProviderError, TryAcquire,
    provider::{Acquire, AcquireOutcome, Release, Renew, RenewOutcome, for_holder},
};
use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::{Pool, tokio_postgres::Client},
};
use dlock_testkit::proxy::Direction;
use tokio::task::JoinHandle;

use crate::support::{Table, blocked, fresh, name, on, pool, server, term, until};

/// A lock that is free, but whose row another session keeps locked.
struct Stuck {
    provider: PostgresProvider,
    pool: Pool,
    schema: String,
    locker: Client,
    /// Sees which sessions wait.
    watcher: Client,
}

impl Stuck {
    async fn new(size: usize) -> Self {
        let (pool, schema) = (server().await.pool(size), fresh());
        let provider = on(pool.clone(), &schema);
        crate::support::create(&provider).await;
        let a = term("stuck");
        provider.acquire(&a).await.unwrap();
        let release = Release::new(a.name.clone(), a.new, None);
        provider.release(&release).await.unwrap();
        let locker = server().await.client().await;
        locker.batch_execute("BEGIN").await.unwrap();
        let lock = format!("SELECT FROM \"{schema}\".lock WHERE name = 'stuck' FOR UPDATE");
        locker.batch_execute(&lock).await.unwrap();
        Self {
            provider,
            pool,
            schema,
            locker,
            watcher: server().await.client().await,
        }
    }

    /// The sessions of the server that wait for the row.
    async fn waiting(&self) -> Vec<i32> {
        blocked(&self.watcher, &self.schema).await
    }

    /// A call that waits for the row.
    async fn stuck(&self, request: &Acquire) -> JoinHandle<Result<AcquireOutcome, ProviderError>> {
        let (provider, sent) = (self.provider.clone(), request.clone());
        let call = tokio::spawn(async move { provider.acquire(&sent).await });
        until("the session waits for the row", async || {
            !self.waiting().await.is_empty()
        })
        .await;
        call
    }
}

#[tokio::test]
async fn row_that_somebody_keeps_locked_ends_as_not_applied() {
    let stuck = Stuck::new(2).await;
    let error = stuck.provider.acquire(&term("stuck")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied);
    assert!(error.to_string().contains("locked"), "{error}");
    // The server answered, so its connection is kept, and no session waits any more.
    assert_eq!(stuck.pool.status().size, 1);
    assert!(stuck.waiting().await.is_empty());
    stuck.locker.batch_execute("COMMIT").await.unwrap();
    stuck.provider.acquire(&term("stuck")).await.unwrap();
}

#[tokio::test]
async fn connection_of_a_dropped_call_is_closed() {
    let stuck = Stuck::new(2).await;
    server().await.wait_for_rows(&stuck.schema).await;
    let call = stuck.stuck(&term("stuck")).await;
    call.abort();
    call.await.unwrap_err();
    // Not returned to the pool, where the next call would queue behind it.
    assert_eq!(stuck.pool.status().size, 0);
    assert_eq!(stuck.provider.read(&term("free").name).await.unwrap(), None);
    assert_eq!(stuck.pool.status().size, 1);
    // The server ends the statement that was sent, so sessions do not pile up.
    until("no session waits", async || {
        stuck.waiting().await.is_empty()
    })
    .await;
    stuck.locker.batch_execute("COMMIT").await.unwrap();
}

#[tokio::test]
async fn connection_of_a_call_that_timed_out_is_closed() {
    let stuck = Stuck::new(2).await;
    server().await.wait_for_rows(&stuck.schema).await;
    let hasty = PostgresProvider::builder()
        .pool(stuck.pool.clone())
        .schema(&stuck.schema)
        .call_timeout(Duration::from_secs(1))
        .build()
        .unwrap();
    let request = term("stuck");
    let error = hasty.acquire(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
    assert_eq!(stuck.pool.status().size, 0);
    // It was sent, and may be applied late; then its repeat finds its own grant.
    stuck.locker.batch_execute("COMMIT").await.unwrap();
    let outcome = stuck.provider.acquire(&request).await.unwrap();
    assert!(
        matches!(outcome, AcquireOutcome::Acquired(_)),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn killed_session_leaves_an_unknown_call_and_a_working_pool() {
    let stuck = Stuck::new(2).await;
    server().await.wait_for_rows(&stuck.schema).await;
    let request = term("stuck");
    let call = stuck.stuck(&request).await;
    let victims = stuck.waiting().await;
    stuck
        .watcher
        .query("SELECT pg_terminate_backend($1)", &[&victims[0]])
        .await
        .unwrap();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
    assert_eq!(
        stuck.pool.status().size,
        0,
        "a dead connection is not lent again"
    );
    stuck.locker.batch_execute("COMMIT").await.unwrap();
    let outcome = stuck.provider.acquire(&request).await.unwrap();
    assert!(
        matches!(outcome, AcquireOutcome::Acquired(_)),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn waiters_leave_a_connection_to_the_holder() {
    let stuck = Stuck::new(3).await;
    let held = term("held");
    stuck.provider.acquire(&held).await.unwrap();
    server().await.wait_for_rows(&stuck.schema).await;
    // More waiters than the pool has connections, all of them stuck.
    let waiters: Vec<_> = (0..6)
        .map(|_| {
            let provider = stuck.provider.clone();
            tokio::spawn(async move { provider.acquire(&term("stuck")).await })
        })
        .collect();
    until("waiters fill their places", async || {
        stuck.waiting().await.len() == 2
    })
    .await;
    for _ in 0..10 {
        assert!(
            stuck.waiting().await.len() <= 2,
            "a waiter took the last one"
        );
    }
    let renew = Renew::new(held.name.clone(), held.new, 1);
    let renewed = stuck.provider.renew(&renew).await.unwrap();
    assert!(matches!(renewed, RenewOutcome::Renewed { .. }));
    // A server that keeps a lease on behalf of its holder has to read for it.
    let read = for_holder(stuck.provider.read(&held.name)).await.unwrap();
    assert_eq!(read.unwrap().renewals, 1);
    let release = Release::new(held.name.clone(), held.new, None);
    stuck.provider.release(&release).await.unwrap();
    stuck.locker.batch_execute("COMMIT").await.unwrap();
    for waiter in waiters {
        waiter.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn exhausted_pool_of_one_ends_as_not_applied() {
    let (pool, schema) = (server().await.pool(1), fresh());
    let provider = PostgresProvider::builder()
        .pool(pool.clone())
        .schema(&schema)
        .call_timeout(Duration::from_secs(1))
        .build()
        .unwrap();
    let patient = on(pool.clone(), &schema);
    crate::support::create(&patient).await;
    let a = term("lock");
    let all = pool.get().await.unwrap();
    let error = provider.acquire(&a).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error}");
    let renew = Renew::new(a.name.clone(), a.new, 1);
    assert_eq!(
        provider.renew(&renew).await.unwrap_err().kind(),
        ErrorKind::NotApplied
    );
    drop(all);
    patient.acquire(&a).await.unwrap();
    patient.renew(&renew).await.unwrap();
}

#[tokio::test]
async fn closed_pool_is_fatal() {
    let provider = server().await.provider(2).await;
    let pool = server().await.pool(2);
    let other = on(pool.clone(), "dlock");
    pool.close();
    assert_eq!(
        other.acquire(&term("lock")).await.unwrap_err().kind(),
        ErrorKind::Fatal
    );
    provider.acquire(&term("lock")).await.unwrap();
}

#[tokio::test]
async fn cold_connection_counts_which_is_said_and_a_warm_one_is_fast_enough() {
    let proxy = server().await.proxy().await;
    let (table, way) = (Table::create().await, server().await.through(&proxy));
    // An attempt gets 2 s: longer than one round trip, shorter than logging in and querying the
    // session.
    let lock = |name: &str, provider: &PostgresProvider| {
        let lock = DLock::builder().name(name).provider(provider.clone());
        lock.duration(Duration::from_secs(12)).build().unwrap()
    };
    let warm = table.provider(pool(way.clone(), 1));
    let half = Duration::from_millis(600);
    proxy.latency(Direction::ToServer, half, Duration::ZERO);
    proxy.latency(Direction::ToClient, half, Duration::ZERO);
    let cold = table.provider(pool(way, 1));
    let Error::Provider(error) = lock("cold", &cold).try_acquire().await.unwrap_err() else {
        panic!("it was asked for nothing else")
    };
    assert!(
        error.to_string().contains("opening a connection"),
        "{error}"
    );
    // A call that a busy machine held up for longer than the rest of its limit has closed the connection.
    until("a warm connection is fast enough", async || {
        warm.read(&name("any")).await.unwrap();
        let tried = lock("warm", &warm).try_acquire().await;
        matches!(tried, Ok(TryAcquire::Acquired(lease)) if lease.is_valid())
    })
    .await;
}
