//! Creating the schema: concurrently, again, by hand, next to the procedures of another release.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use dlock_core::{ErrorKind, Provider, provider::Renew};
use dlock_mysql::{MysqlProvider, SchemaError};
use dlock_mysql_proof::{provider, server};
use mysql_async::prelude::Queryable;
use tokio::task::JoinSet;

use crate::support::{LONG, granted, is_held, term, told};

#[tokio::test]
async fn many_may_make_it_at_once_and_again() {
    let database = server().await.database().await;
    let mut makers = JoinSet::new();
    for _ in 0..16 {
        let maker = provider(database.options(2), LONG / 20);
        makers.spawn(async move { maker.create_schema().await });
    }
    while let Some(made) = makers.join_next().await {
        made.unwrap().unwrap();
    }
    let ours = database.provider(1).await;
    granted(&ours, &term("door")).await;
    ours.create_schema().await.unwrap();
    assert!(is_held(&ours, "door").await);
}

/// As an administrator runs it, and as a migration does.
#[tokio::test]
async fn text_of_it_is_what_the_client_and_a_driver_take() {
    let by_client = server().await.database().await;
    let ours = provider(by_client.options(2), LONG / 20);
    for _ in 0..2 {
        let mut client = Command::new("mariadb")
            .args([
                "--no-defaults",
                "--protocol=tcp",
                "-h127.0.0.1",
                "-uroot",
                "--delimiter=//",
            ])
            .arg(format!("-P{}", by_client.address.port()))
            .arg(&by_client.name)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = client.stdin.take().unwrap();
        input.write_all(ours.schema_sql().as_bytes()).unwrap();
        drop(input);
        assert!(client.wait().unwrap().success());
    }
    ours.verify_schema().await.unwrap();
    granted(&ours, &term("door")).await;

    let by_driver = server().await.database().await;
    by_driver.run(&ours.schema_sql()).await;
    let ours = provider(by_driver.options(2), LONG / 20);
    ours.verify_schema().await.unwrap();
}

#[tokio::test]
async fn session_keeps_its_mode() {
    let database = server().await.database().await;
    let sql = provider(database.options(1), LONG / 20).schema_sql();
    let mut connection = database.connection().await;
    connection
        .query_drop("SET sql_mode = 'ANSI_QUOTES'")
        .await
        .unwrap();
    connection.query_drop(sql).await.unwrap();
    let mode: Option<String> = connection.query_first("SELECT @@sql_mode").await.unwrap();
    assert_eq!(mode.as_deref(), Some("ANSI_QUOTES"));
    let kept: Vec<String> = connection
        .query("SELECT DISTINCT SQL_MODE FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()")
        .await
        .unwrap();
    assert_eq!(kept, ["STRICT_ALL_TABLES"]);
}

/// The procedures of this release are missing until they are created, and those of the other one stay.
#[tokio::test]
async fn schema_of_another_release_is_completed() {
    let database = server().await.database().await;
    let ours = database.provider(2).await;
    let a = term("door");
    granted(&ours, &a).await;
    database
        .run("CREATE PROCEDURE dlock_lock_renew_0() SELECT 1; DROP PROCEDURE dlock_lock_renew_1")
        .await;
    let error = ours.verify_schema().await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the procedure dlock_lock_renew_1 is missing"),
        "{error}"
    );
    let renew = Renew::new(a.name.clone(), a.new, 1);
    let error = ours.renew(&renew).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(told(&error).contains("run create_schema()"), "{error:?}");
    ours.create_schema().await.unwrap();
    ours.renew(&renew).await.unwrap();
    database.run("CALL dlock_lock_renew_0()").await;
    assert!(is_held(&ours, "door").await);
}

#[tokio::test]
async fn tables_beside_each_other_and_in_other_databases_are_other_locks() {
    let (database, other) = (
        server().await.database().await,
        server().await.database().await,
    );
    let on = |table: String| {
        let builder = MysqlProvider::builder().options(database.options(2));
        builder.table(table).build().unwrap()
    };
    let tables = [
        on("dlock_lock".into()),
        on("dlock_lock2".into()),
        on("dlock-lock_acquire".into()),
        on(format!("{}.dlock_lock", other.name)),
        on("x".repeat(52)),
    ];
    for table in &tables {
        table.create_schema().await.unwrap();
        granted(table, &term("door")).await;
    }
    let same = on(format!("{}.dlock_lock", database.name));
    same.verify_schema().await.unwrap();
    assert!(is_held(&same, "door").await);

    // Another database whose name differs in case.
    let capital = database.name.replace("test", "Test");
    let namesake = server().await.database_named(&capital).await;
    let there = provider(namesake.options(2), LONG / 20);
    there.verify_schema().await.unwrap_err();
    granted(&namesake.provider(1).await, &term("door")).await;

    // Without any database.
    let nowhere = provider(database.options(2).db_name(None::<String>), LONG / 20);
    let error = nowhere.acquire(&term("door")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    let error = nowhere.create_schema().await.unwrap_err();
    assert!(
        matches!(&error, SchemaError::Store(error) if error.kind() == ErrorKind::Fatal),
        "{error:?}"
    );
}
