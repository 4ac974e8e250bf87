//! Statements that are prepared once a connection, and sessions that forget them.

use dlock_core::{
    Provider,
    provider::{AcquireOutcome, Release, Renew, RenewOutcome},
};
use dlock_postgres::{PostgresProvider, deadpool_postgres::Pool};

use crate::support::{Table, create, server, term};

fn prepared(pool: Pool, schema: &str) -> PostgresProvider {
    PostgresProvider::builder()
        .pool(pool)
        .schema(schema)
        .prepared(true)
        .build()
        .unwrap()
}

/// How many statements the only session of this pool knows.
async fn known(pool: &Pool) -> i64 {
    let session = pool.get().await.unwrap();
    let count = "SELECT count(*) FROM pg_prepared_statements";
    session.query_typed_one(count, &[]).await.unwrap().get(0)
}

/// A whole term, with two renewals.
async fn use_once(provider: &PostgresProvider) {
    let a = term("lock");
    let renew = |n| Renew::new(a.name.clone(), a.new, n);
    let granted = provider.acquire(&a).await.unwrap();
    assert!(
        matches!(granted, AcquireOutcome::Acquired(_)),
        "{granted:?}"
    );
    let renewed = provider.renew(&renew(1)).await.unwrap();
    assert!(matches!(renewed, RenewOutcome::Renewed { .. }));
    for renewed in provider.renew_many(&[renew(2)]).await {
        assert!(matches!(renewed.unwrap(), RenewOutcome::Renewed { .. }));
    }
    let release = Release::new(a.name.clone(), a.new, None);
    provider.release(&release).await.unwrap();
}

#[tokio::test]
async fn statements_are_prepared_once_a_connection() {
    let table = Table::create().await;
    let pool = server().await.pool(1);
    let provider = prepared(pool.clone(), table.schema());
    for _ in 0..20 {
        use_once(&provider).await;
    }
    assert_eq!(known(&pool).await, 4);
}

#[tokio::test]
async fn session_that_forgot_its_statements_answers_all_the_same() {
    let table = Table::create().await;
    let pool = server().await.pool(1);
    let provider = prepared(pool.clone(), table.schema());
    for forget in ["DEALLOCATE ALL", "DISCARD ALL"] {
        use_once(&provider).await;
        assert_eq!(known(&pool).await, 4);
        let session = pool.get().await.unwrap();
        session.batch_execute(forget).await.unwrap();
        drop(session);
        use_once(&provider).await;
        assert!(known(&pool).await < 4, "{forget}");
        assert_eq!(pool.status().size, 1, "its connection was closed");
    }
}

#[tokio::test]
async fn schema_that_was_made_anew_is_found() {
    let table = Table::create().await;
    let pool = server().await.pool(1);
    let provider = prepared(pool.clone(), table.schema());
    use_once(&provider).await;
    let client = server().await.client().await;
    let drop = format!("DROP SCHEMA \"{}\" CASCADE", table.schema());
    client.batch_execute(&drop).await.unwrap();
    create(&provider).await;
    use_once(&provider).await;
}
