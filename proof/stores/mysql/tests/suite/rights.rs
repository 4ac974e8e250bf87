//! Users and their rights.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Provider,
    provider::{Admin, Ask, List, Release, Revoke},
};
use dlock_mysql::{
    SchemaError,
    fence::{Fence, FenceError},
};
use dlock_mysql_proof::{Database, provider, server};
use mysql_async::{Conn, OptsBuilder, TxOpts};

use crate::support::{LONG, granted, is_held, renewed, term, told};

const PASSWORD: &str = "hunter2";

/// A user of only this database, with these rights in it.
async fn user(database: &Database, rights: &[&str]) -> OptsBuilder {
    let name = format!("u{}", &database.name[5..25]);
    database
        .run(&format!(
            "CREATE OR REPLACE USER {name} IDENTIFIED BY '{PASSWORD}'"
        ))
        .await;
    for right in rights {
        let grant = right.replace("app", &database.name);
        database.run(&format!("GRANT {grant} TO {name}")).await;
    }
    database.options(2).user(Some(name)).pass(Some(PASSWORD))
}

#[tokio::test]
async fn rights_that_the_page_names_are_enough() {
    let database = server().await.database().await;
    database.provider(1).await;
    let page = include_str!("../../../../../stores/mysql/README.md");
    Fence::new("dlock_fence")
        .unwrap()
        .create_schema(&mut database.connection().await)
        .await
        .unwrap();
    let granting = page.lines().filter_map(|line| line.strip_prefix("GRANT "));
    let rights: Vec<&str> = granting
        .map(|line| line.split(" TO ").next().unwrap())
        .collect();
    assert!(rights.len() > 3, "{rights:?}");
    let options = user(&database, &rights).await;
    let ours = provider(options.clone(), LONG / 20);
    ours.create_schema().await.unwrap();
    let a = term("door");
    let token = granted(&ours, &a).await;
    assert!(is_held(&ours, "door").await);
    renewed(&ours, &a, 1).await;
    ours.ask(&Ask::new(a.name.clone(), a.new)).await.unwrap();
    assert_eq!(ours.list(&List::new("")).await.unwrap().records.len(), 1);
    let seen = ours.read(&a.name).await.unwrap().unwrap();
    let revoke = Revoke::new(a.name.clone(), seen.version()).unwrap();
    ours.revoke(&revoke).await.unwrap();
    ours.release(&Release::new(a.name.clone(), revoke.new, None))
        .await
        .unwrap();
    ours.purge(10).await.unwrap();
    let mut connection = Conn::new(options).await.unwrap();
    let mut transaction = connection.start_transaction(TxOpts::new()).await.unwrap();
    let fence = Fence::new("dlock_fence").unwrap();
    fence
        .check(&mut transaction, "account", token)
        .await
        .unwrap();
    transaction.commit().await.unwrap();
}

#[tokio::test]
async fn missing_right_is_fatal_and_named() {
    for rights in [
        &["EXECUTE ON app.*"][..],
        &["SELECT, INSERT, UPDATE ON app.dlock_lock"],
        &["EXECUTE ON app.*", "SELECT ON app.dlock_lock"],
    ] {
        let database = server().await.database().await;
        database.provider(1).await;
        let ours = provider(user(&database, rights).await, LONG / 20);
        let error = ours.acquire(&term("door")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{rights:?}: {error:?}");
        let told = told(&error);
        assert!(
            told.contains("lacks a right") && told.contains("EXECUTE"),
            "{rights:?}: {told}"
        );
    }
    // The user may create nothing.
    let database = server().await.database().await;
    let ours = provider(user(&database, &["SELECT ON app.*"]).await, LONG / 20);
    let error = ours.create_schema().await.unwrap_err();
    assert!(
        matches!(&error, SchemaError::Store(error) if told(error).contains("CREATE ROUTINE")),
        "{error:?}"
    );
    // Refused without DELETE, and by the fence.
    let database = server().await.database().await;
    database.provider(1).await;
    let fence = Fence::new("dlock_fence").unwrap();
    fence
        .create_schema(&mut database.connection().await)
        .await
        .unwrap();
    let rights = [
        "EXECUTE ON app.*",
        "SELECT, INSERT, UPDATE ON app.dlock_lock",
    ];
    let options = user(&database, &rights).await;
    let ours = provider(options.clone(), LONG / 20);
    let token = granted(&ours, &term("door")).await;
    let mut connection = Conn::new(options).await.unwrap();
    let mut transaction = connection.start_transaction(TxOpts::new()).await.unwrap();
    let refused = fence
        .check(&mut transaction, "account", token)
        .await
        .unwrap_err();
    assert!(matches!(refused, FenceError::Store(_)), "{refused:?}");
}

#[tokio::test]
async fn way_that_does_not_lead_in_is_fatal_at_once() {
    let database = server().await.database().await;
    database.provider(1).await;
    let rights = [
        "EXECUTE ON app.*",
        "SELECT, INSERT, UPDATE ON app.dlock_lock",
    ];
    let options = user(&database, &rights).await;
    let other = server().await.database().await;
    for wrong in [
        options.clone().pass(Some("hunter3")),
        options.clone().pass(None::<String>),
        options.clone().user(Some("nobody_of_this_name")),
        options.clone().db_name(Some("no_database_of_this_name")),
        options.clone().db_name(Some(other.name)),
    ] {
        let ours = provider(wrong, Duration::from_secs(20));
        let error = ours.acquire(&term("door")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
        assert!(!told(&error).contains("hunter"), "{error:?}");
        assert!(!format!("{ours:?}").contains("hunter"));
    }
    granted(&provider(options, LONG / 20), &term("door")).await;
}
