//! Each store is opened as the book says, and grants a lock.

use std::{process::Command, time::Duration};

use dlock::{DLock, Provider};
use dlock_book_snippets::stores;

async fn grants(provider: impl Provider) {
    let lock = DLock::builder()
        .name("book")
        .provider(provider)
        .build()
        .unwrap();
    let lease = lock.acquire_timeout(Duration::from_secs(10)).await.unwrap();
    let token = lease.token();
    assert_eq!(lease.with(async |given| given).await.unwrap(), token);
    lock.client().close().await;
}

#[tokio::test]
async fn sqlite_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    grants(stores::sqlite(&folder.path().join("locks.db")).unwrap()).await;
}

#[tokio::test]
async fn postgres_is_opened() {
    let server = crate::postgres::server().await;
    grants(
        stores::postgres(&crate::postgres::url(&server))
            .await
            .unwrap(),
    )
    .await;
}

#[tokio::test]
async fn redis_is_opened() {
    let server = dlock_test_servers::redis::redis(&[]).await.unwrap();
    grants(
        stores::redis(&format!("redis://127.0.0.1:{}/", server.place().port()))
            .unwrap(),
    )
    .await;
}

#[tokio::test]
async fn dynamodb_is_opened() {
    grants(stores::dynamodb(crate::dynamodb::client()).await.unwrap()).await;
}

/// A record in Redis is plain text that any client can read.
#[tokio::test]
async fn a_record_in_redis_can_be_read_by_people() {
    let server = dlock_test_servers::redis::redis(&[]).await.unwrap();
    let port = server.place().port().to_string();
    let provider = stores::redis(&format!("redis://127.0.0.1:{port}/")).unwrap();
    let lock = DLock::builder()
        .name("nightly")
        .owner("web-3:4711")
        .provider(provider)
        .build()
        .unwrap();
    let lease = lock.acquire().await.unwrap();
    let shown = Command::new("redis-cli")
        .args(["-p", &port, "GET", "dlock:{nightly}"])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let token = lease.token().to_string();
    assert!(shown.starts_with("dlock1 held "), "{shown}");
    assert!(shown.split(' ').any(|word| word == token), "{shown}");
    assert!(shown.trim().ends_with("web-3:4711"), "{shown}");
    lock.client().close().await;
}
