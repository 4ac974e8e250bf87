//! A database that refuses: credentials, a server that does not run, a read-only one, a table that
//! disappears. The kind of each error is the one that the frontend needs to act on.

use std::error::Error;

use dlock_core::{
    ErrorKind, Provider, ProviderError,
    provider::{Acquire, AcquireOutcome, Renew, RenewOutcome},
};
use dlock_postgres::{Diagnosis, PostgresProvider};
use dlock_test_servers::postgres::postgres_standby;
use tokio::task::JoinSet;

use crate::durability::ask;
use crate::support::{Server, Table, create, fresh, local, on, pool, server, term, until};

/// An error with all its sources, as a program prints it.
fn chain(error: &ProviderError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

async fn refused(provider: &PostgresProvider) -> ProviderError {
    provider.acquire(&term("lock")).await.unwrap_err()
}

#[tokio::test]
async fn wrong_credentials_are_fatal_and_not_shown() {
    let server = Server::start(&[]).await;
    let client = server.client().await;
    client
        .batch_execute("CREATE ROLE guarded SUPERUSER LOGIN PASSWORD 'the right one'")
        .await
        .unwrap();
    let with = |password: &str| {
        let mut config = server.config();
        config.user("guarded").password(password);
        on(pool(config, 2), "locks")
    };
    create(&with("the right one")).await;

    let wrong = with("the wrong one");
    let error = refused(&wrong).await;
    assert_eq!(error.kind(), ErrorKind::Fatal);
    let shown = format!("{} {error:?} {wrong:?}", chain(&error));
    assert!(shown.contains("password"), "{shown}");
    assert!(!shown.contains("the wrong one"), "{shown}");

    let mut none = server.config();
    none.user("guarded");
    let error = refused(&on(pool(none, 2), "locks")).await;
    assert_eq!(error.kind(), ErrorKind::Fatal, "{}", chain(&error));

    let mut config = server.config();
    config.dbname("nowhere");
    let error = refused(&on(pool(config, 2), "locks")).await;
    assert_eq!(error.kind(), ErrorKind::Fatal);
    assert!(error.to_string().contains("does not exist"), "{error}");
}

#[tokio::test]
async fn server_that_is_not_there_has_applied_nothing() {
    // No server listens on port 1 here.
    let error = refused(&on(pool(local(1), 2), "dlock")).await;
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{}", chain(&error));
}

#[tokio::test]
async fn too_many_connections_have_applied_nothing() {
    let server = Server::start(&["max_connections=8", "superuser_reserved_connections=0"]).await;
    let mut taken = Vec::new();
    while let Ok((client, connection)) = server
        .config()
        .connect(dlock_postgres::deadpool_postgres::tokio_postgres::NoTls)
        .await
    {
        tokio::spawn(connection);
        taken.push(client);
    }
    let provider = on(server.pool(2), "dlock");
    let error = refused(&provider).await;
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{}", chain(&error));
    drop(taken);
    until("a connection is free", async || {
        provider.create_schema().await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn read_only_database_shows_who_holds_but_grants_nothing() {
    let table = Table::create().await;
    let writing = table.provider(server().await.pool(2));
    let mut config = server().await.config();
    config.options("-c default_transaction_read_only=on");
    let reading = table.provider(pool(config, 2));

    let error = refused(&reading).await;
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{}", chain(&error));
    let a = term("lock");
    writing.acquire(&a).await.unwrap();
    assert!(reading.read(&a.name).await.unwrap().is_some());
    // A refusal needs no right to write: it leaves its mark out.
    let outcome = reading.acquire(&term("lock").marks(7)).await.unwrap();
    assert!(matches!(outcome, AcquireOutcome::Held(record) if record.uuid == a.new));
    let renew = Renew::new(a.name.clone(), a.new, 1);
    let error = reading.renew(&renew).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{}", chain(&error));
    assert!(error.to_string().contains("read-only"), "{error}");
    let diagnosis = reading.diagnose().await.unwrap();
    assert_eq!(diagnosis, Some(Diagnosis::ReadOnly));
    assert_eq!(writing.diagnose().await.unwrap(), None);
}

#[tokio::test]
async fn synchronous_standby_that_is_gone_is_found() {
    let server = Server::start(&[]).await;
    let provider = on(server.pool(4), "dlock");
    create(&provider).await;
    let client = server.client().await;
    for change in [
        "ALTER SYSTEM SET synchronous_standby_names = 'gone'",
        "SELECT pg_reload_conf()",
    ] {
        client.batch_execute(change).await.unwrap();
    }
    let (mut grants, mut round) = (JoinSet::new(), 0);
    until("it is known why there is no answer", async || {
        ask(&provider, &mut grants, &mut round);
        provider.diagnose().await.unwrap() == Some(Diagnosis::StandbyGone)
    })
    .await;
    let error = grants.join_all().await.pop().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
}

#[tokio::test]
async fn name_outside_of_the_encoding_is_fatal_and_said() {
    let database = fresh();
    let client = server().await.client().await;
    client
        .batch_execute(&format!(
            "CREATE DATABASE \"{database}\" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        ))
        .await
        .unwrap();
    let mut config = server().await.config();
    config.dbname(&database);
    let provider = on(pool(config, 2), "dlock");
    create(&provider).await;
    provider.acquire(&term("schlo\u{df}")).await.unwrap();
    let (inside, outside) = (term("inside"), term("schlo\u{df} \u{1f512}"));
    let error = provider.acquire(&outside).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{}", chain(&error));
    assert!(error.to_string().contains("encoding"), "{error}");
    // In a batch it is the only one that fails.
    provider.acquire(&inside).await.unwrap();
    let renew = |of: &Acquire| Renew::new(of.name.clone(), of.new, 1);
    let renewed = provider
        .renew_many(&[renew(&outside), renew(&inside)])
        .await;
    assert!(renewed[0].is_err() && renewed[1].is_ok(), "{renewed:?}");
}

#[tokio::test]
async fn standby_grants_once_it_is_promoted() {
    let primary = Server::start(&[]).await;
    let writing = on(primary.pool(2), "dlock");
    create(&writing).await;
    let a = term("lock");
    let token = writing.acquire(&a).await.unwrap();
    let standby = match postgres_standby(primary.port(), &["max_connections=400"]).await {
        Ok(service) => Server::on(service),
        Err(error) => panic!("no standby: {error}"),
    };
    let following = on(standby.pool(2), "dlock");
    until(
        "the standby has the record",
        async || matches!(following.read(&a.name).await, Ok(Some(record)) if record.uuid == a.new),
    )
    .await;
    let error = following.acquire(&term("other")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{}", chain(&error));

    let refused = following.acquire(&term("lock").marks(7)).await.unwrap();
    assert!(matches!(refused, AcquireOutcome::Held(record) if record.wanted == 0));
    let diagnosis = following.diagnose().await.unwrap();
    assert_eq!(diagnosis, Some(Diagnosis::Standby));
    drop((writing, primary));
    let client = standby.client().await;
    client.query("SELECT pg_promote()", &[]).await.unwrap();
    following.acquire(&term("other")).await.unwrap();
    // A replicated record still holds, for its holder and against all others.
    let renew = Renew::new(a.name.clone(), a.new, 1);
    let renewed = following.renew(&renew).await.unwrap();
    assert!(matches!(renewed, RenewOutcome::Renewed { .. }));
    assert_eq!(following.acquire(&a).await.unwrap(), token);
    let stranger = following.acquire(&term("lock")).await.unwrap();
    assert!(matches!(stranger, AcquireOutcome::Held(_)));
}

#[tokio::test]
async fn table_deleted_under_a_holder_is_fatal_and_later_a_loss() {
    let schema = fresh();
    let provider = on(server().await.pool(2), &schema);
    create(&provider).await;
    let a = term("lock");
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&a).await.unwrap() else {
        panic!("nobody else wants it");
    };
    let token = tokens.last();
    let renew = Renew::new(a.name.clone(), a.new, 1);
    provider.renew(&renew).await.unwrap();

    let client = server().await.client().await;
    client
        .batch_execute(&format!("DROP TABLE \"{schema}\".lock CASCADE"))
        .await
        .unwrap();
    for error in [
        provider.renew(&renew).await.unwrap_err(),
        refused(&provider).await,
    ] {
        assert_eq!(error.kind(), ErrorKind::Fatal, "{}", chain(&error));
        assert!(error.to_string().contains("create_schema()"), "{error}");
    }
    // A new table knows nothing of the term; its tokens continue above the old ones (T1).
    create(&provider).await;
    assert_eq!(
        provider.renew(&renew).await.unwrap(),
        RenewOutcome::Lost(None)
    );
    let next = provider.acquire(&term("lock")).await.unwrap();
    assert!(
        matches!(next, AcquireOutcome::Acquired(next) if next.first() > token),
        "{next:?}"
    );
}
