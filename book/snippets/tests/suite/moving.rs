//! "Coming from another lock": a holder of the old lock keeps the new release out, and both locks are released.

use std::{sync::Mutex, time::Duration};

use dlock::{Client, DLock, TryAcquire};
use dlock_book_snippets::{moving, stores};
use dlock_test_servers::Service;

/// The limit for an event that should happen soon, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many sessions wait for the advisory lock.
const WAITING: &str = "SELECT count(*) FROM pg_locks
    WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted";

async fn lock(server: &Service) -> DLock {
    let provider = stores::postgres(&crate::postgres::url(server))
        .await
        .unwrap();
    DLock::builder()
        .name("report")
        .provider(Client::new(provider))
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_holder_of_the_advisory_lock_keeps_the_new_release_out() {
    let server = crate::postgres::server().await;
    let lock = lock(&server).await;
    let old = crate::postgres::connect(&server).await;
    let new = crate::postgres::connect(&server).await;
    let watcher = crate::postgres::connect(&server).await;
    let steps = Mutex::new(Vec::new());

    old.execute("SELECT pg_advisory_lock(4711)", &[])
        .await
        .unwrap();
    let old_process = async {
        // Wait until the new release is in the server's queue for the advisory lock.
        tokio::time::timeout(PATIENCE, async {
            while watcher
                .query_one(WAITING, &[])
                .await
                .unwrap()
                .get::<_, i64>(0)
                == 0
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await
        .expect("in time");
        steps.lock().unwrap().push("old");
        old.execute("SELECT pg_advisory_unlock(4711)", &[])
            .await
            .unwrap();
    };
    let new_release = moving::report(&new, &lock, async |_| {
        steps.lock().unwrap().push("new");
        Ok(())
    });
    let ((), done) = tokio::join!(old_process, new_release);
    done.unwrap();
    assert_eq!(*steps.lock().unwrap(), ["old", "new"]);
    lock.client().close().await;
}

#[tokio::test]
async fn both_locks_are_free_after_work_that_failed() {
    let server = crate::postgres::server().await;
    let lock = lock(&server).await;
    let connection = crate::postgres::connect(&server).await;
    let failed =
        moving::report(&connection, &lock, async |_| Err("no paper".into())).await;
    assert_eq!(failed.unwrap_err().to_string(), "no paper");
    let other = crate::postgres::connect(&server).await;
    let free = other
        .query_one("SELECT pg_try_advisory_lock(4711)", &[])
        .await
        .unwrap();
    assert!(free.get::<_, bool>(0));
    assert!(matches!(
        lock.try_acquire().await.unwrap(),
        TryAcquire::Acquired(_)
    ));
    lock.client().close().await;
}
