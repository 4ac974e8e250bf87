//! "Leases in ten minutes".

use std::time::Duration;

use dlock::{Client, DLock, provider::Admin, sqlite::SqliteProvider};
use dlock_book_snippets::leases::{book, steps};

fn lock(folder: &tempfile::TempDir) -> DLock {
    let store = SqliteProvider::open(folder.path().join("locks.db")).unwrap();
    DLock::builder()
        .name("customer-7")
        .duration(Duration::from_secs(9))
        .provider(store)
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_wait_with_a_limit_ends_with_the_order_or_the_holder() {
    let folder = tempfile::tempdir().unwrap();
    let lock = lock(&folder);
    let mut orders = Vec::new();
    book(&lock, &mut orders).await.unwrap();
    assert_eq!(orders.len(), 1);

    let guard = lock.hold().await.unwrap();
    let busy = book(&lock, &mut orders).await.unwrap_err().to_string();
    assert!(busy.starts_with("busy: Some"), "{busy}");
    assert_eq!(orders.len(), 1);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_guard_lives_longer_than_its_lease() {
    let folder = tempfile::tempdir().unwrap();
    let lock = lock(&folder);
    steps(&lock, async |_| {
        tokio::time::sleep(Duration::from_millis(100)).await;
        lock.read().await.unwrap().unwrap().renewals < 2
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_guard_that_is_revoked_ends_the_steps() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteProvider::open(folder.path().join("locks.db")).unwrap();
    let lock = DLock::builder()
        .name("customer-7")
        .duration(Duration::from_secs(9))
        .provider(Client::new(store.clone()))
        .build()
        .unwrap();
    let mut revoked = false;
    let ended = steps(&lock, async |_| {
        if !revoked {
            let record = lock.read().await.unwrap().unwrap();
            store.force_release(lock.name(), &record).await.unwrap();
            revoked = true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        true
    })
    .await;
    let ended = ended.unwrap_err().to_string();
    assert!(ended.contains("taken away"), "{ended}");
}
