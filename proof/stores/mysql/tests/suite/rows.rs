//! Foreign rows and tables.

use dlock_core::{
    ErrorKind, Provider,
    provider::{Admin, Ask, List, Release, Renew, Revoke},
};
use dlock_mysql::SchemaError;
use dlock_mysql_proof::{provider, server};
use mysql_async::{Row, prelude::Queryable};

use crate::support::{LONG, granted, term, told};

#[tokio::test]
async fn row_that_is_no_record_is_fatal_and_left_as_it_is() {
    let database = server().await.database().await;
    let provider = database.provider(2).await;
    let mut connection = database.connection().await;
    let spoilt = [
        "renewals = -1",
        "renewals = 9007199254740992",
        "owner = REPEAT('x', 1024), owner = CONCAT(LEFT(owner, 1023), 'ä')",
        "since = -1",
        "since = 9223372036854775807",
        "token = 0",
        "token = 9007199254740992",
        "duration = 99",
        "duration = 86400001",
        "expiry = -1",
        "released = 2",
        "asked = -1",
        "released = 1, duration = 0",
    ];
    for (number, change) in spoilt.into_iter().enumerate() {
        let a = term(&format!("{number}"));
        granted(&provider, &a).await;
        granted(&provider, &term(&format!("{number} beside"))).await;
        let version = provider.read(&a.name).await.unwrap().unwrap().version();
        let find = format!("FROM dlock_lock WHERE name = '{number}'");
        connection
            .query_drop(format!(
                "UPDATE dlock_lock SET {change} WHERE name = '{number}'"
            ))
            .await
            .unwrap();
        let before: Option<Row> = connection
            .query_first(format!("SELECT * {find}"))
            .await
            .unwrap();
        let name = || a.name.clone();
        for error in [
            provider.acquire(&a).await.err(),
            provider.acquire(&term(a.name.as_str())).await.err(),
            provider.renew(&Renew::new(name(), a.new, 1)).await.err(),
            provider
                .release(&Release::new(name(), a.new, None))
                .await
                .err(),
            provider
                .revoke(&Revoke::new(name(), version).unwrap())
                .await
                .err(),
            provider.ask(&Ask::new(name(), a.new)).await.err(),
            provider.read(&a.name).await.err(),
        ] {
            let error = error.unwrap_or_else(|| panic!("{change}: it was taken for a record"));
            assert_eq!(error.kind(), ErrorKind::Fatal, "{change}: {error:?}");
            assert!(
                told(&error).contains("is no record of dlock: its "),
                "{change}: {error:?}"
            );
        }
        let after: Option<Row> = connection
            .query_first(format!("SELECT * {find}"))
            .await
            .unwrap();
        let shown = |row: Option<Row>| format!("{:?}", row.unwrap().unwrap());
        assert_eq!(shown(before), shown(after), "{change}");
        let page = provider.list(&List::new(a.name.as_str())).await.unwrap();
        assert_eq!(
            (page.records.len(), page.unreadable.len()),
            (1, 1),
            "{change}"
        );
        connection
            .query_drop(format!("DELETE {find}"))
            .await
            .unwrap();
        granted(&provider, &a).await;
        connection
            .query_drop("DELETE FROM dlock_lock")
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn missing_table_and_missing_procedure_say_what_to_run() {
    let database = server().await.database().await;
    let ours = provider(database.options(2), LONG / 20);
    let error = ours.acquire(&term("door")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(told(&error).contains("run create_schema()"), "{error:?}");
    database.provider(1).await;
    granted(&ours, &term("door")).await;
    database.run("DROP TABLE dlock_lock").await;
    let error = ours.read(&term("door").name).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(told(&error).contains("run create_schema()"), "{error:?}");
}

#[tokio::test]
async fn table_of_others_is_left_as_it_is() {
    for (create, lacks) in [
        (
            "CREATE TABLE dlock_lock (id INT PRIMARY KEY)",
            "the column prefix varbinary(1024) is missing",
        ),
        (
            "CREATE VIEW dlock_lock AS SELECT 1 AS id",
            "it is no ordinary table of the engine InnoDB",
        ),
    ] {
        let database = server().await.database().await;
        database.run(create).await;
        let ours = provider(database.options(2), LONG / 20);
        let error = ours.create_schema().await.unwrap_err();
        assert!(matches!(error, SchemaError::Differs { .. }), "{error:?}");
        assert!(error.to_string().contains(lacks), "{error}");
        let mut connection = database.connection().await;
        let columns: Vec<Row> = connection
            .query("SHOW COLUMNS FROM dlock_lock")
            .await
            .unwrap();
        assert_eq!(columns.len(), 1);
    }
}

#[tokio::test]
async fn table_that_forgets_or_merges_is_refused() {
    let database = server().await.database().await;
    let ours = database.provider(2).await;
    ours.verify_schema().await.unwrap();
    for (change, back) in [
        ("ENGINE = MEMORY", "ENGINE = InnoDB"),
        (
            "MODIFY name VARCHAR(512) NOT NULL",
            "MODIFY name VARBINARY(1024) NOT NULL",
        ),
        (
            "DROP PRIMARY KEY, ADD PRIMARY KEY (name, prefix)",
            "DROP PRIMARY KEY, ADD PRIMARY KEY (prefix, name)",
        ),
        (
            "MODIFY token DOUBLE NOT NULL",
            "MODIFY token BIGINT NOT NULL",
        ),
    ] {
        database
            .run(&format!("ALTER TABLE dlock_lock {change}"))
            .await;
        let error = ours.verify_schema().await.unwrap_err();
        assert!(
            matches!(error, SchemaError::Differs { .. }),
            "{change}: {error:?}"
        );
        database
            .run(&format!("ALTER TABLE dlock_lock {back}"))
            .await;
        ours.verify_schema().await.unwrap();
    }
}

/// A week is exact to the minute, and the limit applies in a database where no other client cleans up.
#[tokio::test]
async fn purge_takes_what_is_a_week_past_and_no_more_than_its_limit() {
    let database = server().await.database().await;
    let ours = database.provider(1).await;
    let names = [
        "old 1", "old 2", "old 3", "old 4", "old 5", "spoilt", "young",
    ];
    for name in names {
        granted(&ours, &term(name)).await;
    }
    database
        .run(
            "SET @week_ago = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) - 7 * 86400000000; \
             UPDATE dlock_lock SET expiry = @week_ago + IF(name = 'young', 1, -1) * 60000000; \
             UPDATE dlock_lock SET since = -1 WHERE name = 'spoilt'",
        )
        .await;
    assert_eq!(ours.purge(2).await.unwrap(), 2);
    assert_eq!(ours.purge(10).await.unwrap(), 3);
    let left = ours.list(&List::new("")).await.unwrap();
    let records: Vec<_> = left.records.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(records, ["young"]);
    let unreadable = left.unreadable.iter().map(|(name, _)| name.as_str());
    assert!(unreadable.eq(["spoilt"]), "what is no record was deleted");
}
