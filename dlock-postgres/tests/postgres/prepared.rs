//! Statements that are prepared once per connection, sessions that forget them, and sessions that are not the
//! connection's own.

use dlock_core::{
    Provider,
    provider::{AcquireOutcome, Release, Renew, RenewOutcome},
};
use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, tokio_postgres::NoTls},
};
use dlock_test_servers::postgres::pgbouncer;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::support::{PATIENCE, Server, Table, create, local, on, pool, server, term};

/// How many statements a whole term takes.
const STATEMENTS: i64 = 4;
/// More than all tests together usually prepare meanwhile.
const OTHERS: i32 = 3000;

/// A provider that prepares its statements, as configured or automatically.
fn prepared(pool: Pool, schema: &str, said: Option<bool>) -> PostgresProvider {
    PostgresProvider::builder()
        .pool(pool)
        .schema(schema)
        .prepared_opt(said)
        .call_timeout(PATIENCE)
        .build()
        .unwrap()
}

/// How many statements the only session of this pool knows.
async fn known(pool: &Pool) -> i64 {
    let session = pool.get().await.unwrap();
    let count = "SELECT count(*) FROM pg_prepared_statements";
    session.query_typed_one(count, &[]).await.unwrap().get(0)
}

/// Sends this to the only session of this pool, unnoticed by the provider.
async fn run(pool: &Pool, sql: &str) {
    let session = pool.get().await.unwrap();
    session.batch_execute(sql).await.unwrap();
}

/// The number of a new statement. The driver counts those of all tests.
async fn number() -> i32 {
    let client = server().await.client().await;
    let _numbered = client.prepare("SELECT").await.unwrap();
    let find = "SELECT substr(name, 2)::integer FROM pg_prepared_statements";
    client.query_typed_one(find, &[]).await.unwrap().get(0)
}

/// A whole term, with two renewals.
async fn use_once(provider: &PostgresProvider) {
    let a = term(&format!("lock {}", Uuid::new_v4()));
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
    for said in [None, Some(true), Some(false)] {
        let table = Table::create().await;
        let pool = server().await.pool(1);
        let provider = prepared(pool.clone(), table.schema(), said);
        for _ in 0..20 {
            use_once(&provider).await;
        }
        let expected = if said == Some(false) { 0 } else { STATEMENTS };
        assert_eq!(known(&pool).await, expected, "{said:?}");
        assert_eq!(pool.status().size, 1, "it was another session");
    }
}

#[tokio::test]
async fn session_that_forgot_its_statements_answers_and_is_sent_no_more_of_them() {
    let table = Table::create().await;
    let pool = server().await.pool(1);
    let provider = prepared(pool.clone(), table.schema(), None);
    for forget in ["DEALLOCATE ALL", "DISCARD ALL"] {
        for _ in 0..3 {
            use_once(&provider).await;
        }
        assert_eq!(known(&pool).await, STATEMENTS);
        run(&pool, forget).await;
        for _ in 0..3 {
            use_once(&provider).await;
        }
        assert_eq!(known(&pool).await, 0, "{forget}");
        assert_eq!(pool.status().size, 1, "its connection was closed");
        // The next connection starts afresh.
        pool.retain(|_, _| false);
    }
}

#[tokio::test]
async fn session_that_forgot_its_statements_is_sent_them_again_where_all_are_prepared() {
    let table = Table::create().await;
    let pool = server().await.pool(1);
    let provider = prepared(pool.clone(), table.schema(), Some(true));
    for _ in 0..2 {
        for _ in 0..3 {
            use_once(&provider).await;
        }
        assert_eq!(known(&pool).await, STATEMENTS);
        run(&pool, "DISCARD ALL").await;
    }
    assert_eq!(pool.status().size, 1, "its connection was closed");
}

#[tokio::test]
async fn pools_that_clean_their_connections_work() {
    let discard = RecyclingMethod::Custom("DISCARD ALL".to_owned());
    for (recycling_method, expected) in [
        (RecyclingMethod::Verified, STATEMENTS),
        (RecyclingMethod::Clean, STATEMENTS),
        (discard, 0),
    ] {
        let table = Table::create().await;
        let recycling = ManagerConfig {
            recycling_method: recycling_method.clone(),
        };
        let manager = Manager::from_config(server().await.config(), NoTls, recycling);
        let pool = Pool::builder(manager).max_size(1).build().unwrap();
        let provider = prepared(pool.clone(), table.schema(), None);
        for _ in 0..5 {
            use_once(&provider).await;
        }
        assert_eq!(known(&pool).await, expected, "{recycling_method:?}");
        assert_eq!(pool.status().size, 1, "its connection was closed");
    }
}

#[tokio::test]
async fn session_that_has_others_of_their_names_answers_and_prepares_nothing() {
    let table = Table::create().await;
    let (pool, provider) = loop {
        let pool = server().await.pool(1);
        let provider = prepared(pool.clone(), table.schema(), None);
        let first = number().await + 1;
        let last = first + OTHERS - 1;
        let occupy = format!(
            "DO $$ BEGIN FOR n IN {first}..{last} LOOP EXECUTE 'PREPARE s' || n || ' AS SELECT'; END LOOP; END $$"
        );
        run(&pool, &occupy).await;
        for _ in 0..3 {
            use_once(&provider).await;
        }
        // Otherwise other tests have advanced the count beyond the occupied names.
        if number().await <= last {
            break (pool, provider);
        }
    };
    assert_eq!(known(&pool).await, i64::from(OTHERS));
    run(&pool, "DEALLOCATE ALL").await;
    for _ in 0..3 {
        use_once(&provider).await;
    }
    assert_eq!(known(&pool).await, 0, "it goes on trying");
    assert_eq!(pool.status().size, 1, "its connection was closed");
}

#[tokio::test]
async fn schema_that_was_made_anew_is_found() {
    let table = Table::create().await;
    let pool = server().await.pool(1);
    let provider = prepared(pool.clone(), table.schema(), None);
    for _ in 0..3 {
        use_once(&provider).await;
    }
    assert_eq!(known(&pool).await, STATEMENTS);
    let client = server().await.client().await;
    let drop = format!("DROP SCHEMA \"{}\" CASCADE", table.schema());
    client.batch_execute(&drop).await.unwrap();
    create(&provider).await;
    for _ in 0..3 {
        use_once(&provider).await;
    }
    assert!(known(&pool).await >= STATEMENTS, "it prepares no more");
}

/// All clients of the pooler share one session, so anything that any of them leaves there is seen.
#[tokio::test]
async fn nothing_is_prepared_in_sessions_that_a_pooler_lends() {
    let server = Server::start(&[]).await;
    let pooler = pgbouncer(server.port(), 1).await;
    let pooler = pooler.unwrap_or_else(|error| panic!("no pooler: {error}"));
    let clients = pool(local(pooler.place().port()), 4);
    let mut providers = Vec::new();
    for schema in ["one", "other"] {
        create(&on(clients.clone(), schema)).await;
        providers.push(prepared(clients.clone(), schema, None));
    }
    for _ in 0..5 {
        let mut together = JoinSet::new();
        for provider in providers.iter().cycle().take(8) {
            let provider = provider.clone();
            together.spawn(async move { use_once(&provider).await });
        }
        together.join_all().await;
    }
    assert_eq!(known(&clients).await, 0);
    assert!(clients.status().size > 1, "nothing was shared");
}
