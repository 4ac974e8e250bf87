//! Making the schema: many at once, without rights, under other names, next to objects that are not ours.

use dlock_core::{
    ErrorKind, Provider,
    provider::{Admin, List, Release, Renew},
};
use dlock_postgres::{PostgresProvider, SchemaError};
use tokio::task::JoinSet;

use crate::support::{create, fresh, on, pool, server, term};

fn lacks(result: Result<(), SchemaError>) -> String {
    match result {
        Err(SchemaError::Differs { lacks, .. }) => lacks.join("; "),
        other => panic!("expected a schema that differs, got {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_who_start_at_once_make_one_schema() {
    for _ in 0..3 {
        let schema = fresh();
        let mut starting = JoinSet::new();
        for _ in 0..24 {
            let provider = on(server().await.pool(1), &schema);
            starting.spawn(async move {
                provider.create_schema().await?;
                provider.verify_schema().await?;
                Ok::<_, SchemaError>(provider.acquire(&term("lock")).await)
            });
        }
        for started in starting.join_all().await {
            started.unwrap().unwrap();
        }
    }
}

/// Names are resolved as they are now, and rows are read as they were when the statement began. Between the two another
/// process may have made the schema: here a transaction keeps them apart.
#[tokio::test]
async fn schema_that_is_made_while_it_is_looked_for_is_not_found_in_part() {
    let (sessions, schema) = (server().await.pool(1), fresh());
    let looking = on(sessions.clone(), &schema);
    // The first statement over a connection has a separate transaction.
    looking.verify_schema().await.unwrap_err();
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class LIMIT 1";
    let session = sessions.get().await.unwrap();
    session.batch_execute(begin).await.unwrap();
    drop(session);
    create(&on(server().await.pool(1), &schema)).await;

    let lacks = lacks(looking.verify_schema().await);
    for part in ["does not exist", "the function"] {
        assert!(lacks.contains(part), "{lacks}");
    }
    assert!(!lacks.contains("the column"), "{lacks}");
    let session = sessions.get().await.unwrap();
    session.batch_execute("ROLLBACK").await.unwrap();
    drop(session);
    create(&looking).await;
}

#[tokio::test]
async fn making_it_again_keeps_what_is_there() {
    let provider = server().await.provider(2).await;
    let a = term("lock");
    provider.acquire(&a).await.unwrap();
    let before = provider.read(&a.name).await.unwrap().unwrap();
    create(&provider).await;
    let client = server().await.client().await;
    client.batch_execute(&provider.schema_sql()).await.unwrap();
    let after = provider.read(&a.name).await.unwrap().unwrap();
    assert_eq!((before.uuid, before.token), (after.uuid, after.token));
}

#[tokio::test]
async fn schema_sql_is_all_that_a_migration_needs() {
    let provider = on(server().await.pool(2), &fresh());
    assert!(lacks(provider.verify_schema().await).contains("does not exist"));
    let client = server().await.client().await;
    client.batch_execute(&provider.schema_sql()).await.unwrap();
    provider.verify_schema().await.unwrap();
    provider.acquire(&term("lock")).await.unwrap();
}

#[tokio::test]
async fn names_are_taken_as_they_are_written() {
    let schema = format!("Größe-{}", fresh());
    let longest = "T".repeat(51);
    for table in ["Lock-Table", "select", longest.as_str()] {
        let provider = PostgresProvider::builder()
            .pool(server().await.pool(2))
            .schema(&schema)
            .table(table)
            .build()
            .unwrap();
        create(&provider).await;
        let a = term("lock");
        provider.acquire(&a).await.unwrap();
        let renewals = [Renew::new(a.name.clone(), a.new, 1)];
        provider.renew_many(&renewals).await[0].as_ref().unwrap();
        assert_eq!(
            provider.list(&List::new("")).await.unwrap().records.len(),
            1
        );
        provider
            .release(&Release::new(a.name.clone(), a.new, None))
            .await
            .unwrap();
        assert_eq!(provider.purge(10).await.unwrap(), 0);
        let client = server().await.client().await;
        let rows = client
            .query(&format!("SELECT FROM \"{schema}\".\"{table}\""), &[])
            .await
            .unwrap();
        assert_eq!(rows.len(), 1);
    }
}

#[tokio::test]
async fn user_without_the_right_to_create_can_start_where_all_is_there() {
    let client = server().await.client().await;
    let (schema, user) = (fresh(), fresh());
    let owner = on(server().await.pool(2), &schema);
    client
        .batch_execute(&format!("CREATE ROLE \"{user}\" LOGIN"))
        .await
        .unwrap();
    let mut config = server().await.config();
    config.user(&user);
    let theirs = on(pool(config, 2), &schema);
    let refused = theirs.create_schema().await.unwrap_err();
    assert!(
        matches!(&refused, SchemaError::Store(error) if error.kind() == ErrorKind::Fatal),
        "{refused:?}"
    );

    create(&owner).await;
    let error = theirs.acquire(&term("lock")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal);
    assert!(error.to_string().contains("needs USAGE"), "{error}");
    client
        .batch_execute(&format!(
            "GRANT USAGE ON SCHEMA \"{schema}\" TO \"{user}\";
             GRANT SELECT, INSERT, UPDATE, DELETE ON \"{schema}\".lock TO \"{user}\""
        ))
        .await
        .unwrap();
    create(&theirs).await;
    theirs.acquire(&term("lock")).await.unwrap();
    assert_eq!(theirs.purge(1).await.unwrap(), 0);
}

#[tokio::test]
async fn table_of_somebody_else_is_refused_and_left_alone() {
    let client = server().await.client().await;
    let columns = "prefix text COLLATE \"C\", name text COLLATE \"C\", uuid uuid, renewals bigint,
        owner text, since timestamptz, token bigint, duration bigint, expiry timestamptz,
        released boolean, asked boolean, wanted bigint, data bytea";
    for (kind, body, part) in [
        (
            "TABLE",
            "id serial PRIMARY KEY".to_owned(),
            "\"uuid uuid\" is missing",
        ),
        // Without a key the first two acquires of a name would both be granted.
        ("TABLE", columns.to_owned(), "not unique"),
        (
            "TABLE",
            format!("{columns}, UNIQUE (prefix, name) DEFERRABLE"),
            "not unique",
        ),
        (
            "UNLOGGED TABLE",
            format!("{columns}, PRIMARY KEY (prefix, name)"),
            "survives a crash",
        ),
        // Another zone, another instant.
        (
            "TABLE",
            format!(
                "{}, PRIMARY KEY (prefix, name)",
                columns.replace("expiry timestamptz", "expiry timestamp")
            ),
            "\"expiry timestamptz\" is missing",
        ),
        // Where "a" and "A" are one name.
        (
            "TABLE",
            format!(
                "{}, PRIMARY KEY (prefix, name)",
                columns.replace("name text COLLATE \"C\"", "name text")
            ),
            "\"name text C\" is missing",
        ),
        // No new name could be added.
        (
            "TABLE",
            format!("{columns}, site integer NOT NULL, PRIMARY KEY (prefix, name)"),
            "\"site\" needs a value",
        ),
    ] {
        let schema = fresh();
        client
            .batch_execute(&format!(
                "CREATE SCHEMA \"{schema}\"; CREATE {kind} \"{schema}\".lock ({body})"
            ))
            .await
            .unwrap();
        let provider = on(server().await.pool(1), &schema);
        let found = lacks(provider.create_schema().await);
        assert!(found.contains(part), "{found}");
        let functions = client
            .query(
                "SELECT FROM pg_proc WHERE pronamespace = $1::text::regnamespace",
                &[&format!("\"{schema}\"")],
            )
            .await
            .unwrap();
        assert!(
            functions.is_empty(),
            "functions were made beside a foreign table"
        );
    }
    // The same columns with a key are a table of ours.
    let schema = fresh();
    client
        .batch_execute(&format!(
            "CREATE SCHEMA \"{schema}\"; CREATE TABLE \"{schema}\".lock ({columns}, PRIMARY KEY (prefix, name))"
        ))
        .await
        .unwrap();
    create(&on(server().await.pool(1), &schema)).await;
}

#[tokio::test]
async fn session_that_quotes_all_names_finds_the_schema() {
    let mut config = server().await.config();
    config.options("-c quote_all_identifiers=on");
    let provider = on(pool(config, 2), &fresh());
    for _ in 0..2 {
        create(&provider).await;
        provider.verify_schema().await.unwrap();
    }
}

/// On a server of a supported version the rest of the suite is the proof.
#[tokio::test]
async fn server_that_is_too_old_is_named_by_its_version() {
    let client = server().await.client().await;
    let row = client.query_one("SHOW server_version_num", &[]).await;
    let version: i32 = row.unwrap().get::<_, &str>(0).parse().unwrap();
    let provider = on(server().await.pool(2), &fresh());
    let call = provider.acquire(&term("lock")).await.unwrap_err();
    let setup = provider.create_schema().await;
    let named = format!("PostgreSQL {}.", version / 10_000);
    if version < 120_000 {
        let setup = setup.unwrap_err().to_string();
        for error in [call.to_string(), setup] {
            assert!(
                error.contains(&named) && error.contains("12 or later"),
                "{error}"
            );
        }
    } else {
        assert!(call.to_string().contains("create_schema()"), "{call}");
        setup.unwrap();
    }
}

#[tokio::test]
async fn what_is_missing_is_named_and_made_beside_the_functions_of_another_release() {
    let schema = fresh();
    let provider = on(server().await.pool(2), &schema);
    let missing = provider.acquire(&term("lock")).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Fatal);
    assert!(missing.to_string().contains("create_schema()"), "{missing}");
    let read = provider.read(&term("lock").name).await.unwrap_err();
    assert_eq!(read.kind(), ErrorKind::Fatal);

    create(&provider).await;
    let client = server().await.client().await;
    let rename = format!("ALTER FUNCTION \"{schema}\".lock_renew_1 RENAME TO lock_renew_0");
    client.batch_execute(&rename).await.unwrap();
    let a = term("lock");
    provider.acquire(&a).await.unwrap();
    let renew = Renew::new(a.name.clone(), a.new, 1);
    let other = provider.renew(&renew).await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Fatal);
    assert!(other.to_string().contains("another release"), "{other}");
    assert!(lacks(provider.verify_schema().await).contains("lock_renew_1\" is missing"));
    create(&provider).await;
    provider.renew(&renew).await.unwrap();
    let theirs = format!("SELECT verdict FROM \"{schema}\".lock_renew_0('', 'lock', $1, 2)");
    let answer = client.query_one(&theirs, &[&a.new]).await.unwrap();
    assert_eq!(answer.get::<_, &str>(0), "renewed");
}
