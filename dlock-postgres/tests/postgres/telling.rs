//! A release notifies only if its term is marked (N3), and a waiter that could leave no mark polls.

use std::time::Duration;

use dlock_core::{
    Client, DLock, Provider,
    provider::{AcquireOutcome, Release, ReleaseOutcome},
};
use tokio::time::{Instant, timeout};

use crate::{
    hearing::{SOON, granted, heard, use_wanted, watch},
    support::{Table, name, server, term, until},
};

#[tokio::test]
async fn release_that_nobody_waits_for_notifies_nobody() {
    let table = Table::create().await;
    let listening = || async { table.listening(server().await.pool(2), server().await.config()) };
    let (provider, other) = (listening().await, listening().await);
    let (mut ours, mut theirs) = (watch(&provider).await, watch(&other).await);
    let a = term("waited for by nobody");
    granted(&provider, &a).await;
    let refused = provider.acquire(&term("waited for by nobody")).await;
    assert!(
        matches!(refused, Ok(AcquireOutcome::Held(_))),
        "{refused:?}"
    );
    let release = Release::new(a.name.clone(), a.new, None);
    let released = provider.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released { wanted: false });
    use_wanted(&provider, "waited for").await;
    // Both sessions receive every notification.
    for stream in [&mut ours, &mut theirs] {
        assert_eq!(heard(stream).await, name("waited for"));
    }
}

#[tokio::test]
async fn row_that_a_long_release_keeps_locked_is_not_marked_and_the_waiter_polls() {
    let table = Table::create().await;
    let silent = table.provider(server().await.pool(2));
    let a = term("lock");
    granted(&silent, &a).await;
    let transaction = server().await.client().await;
    transaction.batch_execute("BEGIN").await.unwrap();
    let release = format!(
        "SELECT verdict FROM \"{0}\".lock_release_1('', 'lock', $1, '{0}.lock:0:lock')",
        table.schema()
    );
    let released = transaction.query_one(&release, &[&a.new]).await.unwrap();
    assert_eq!(released.get::<_, &str>(0), "released");

    // On a busy machine the time of a call includes other work.
    until("a refusal takes less than 100 ms", async || {
        let asked = Instant::now();
        let refused = silent.acquire(&term("lock").marks(7)).await.unwrap();
        let took = asked.elapsed();
        assert!(
            matches!(&refused, AcquireOutcome::Held(record) if record.wanted == 0),
            "{refused:?}"
        );
        took < Duration::from_millis(100)
    })
    .await;

    let listening = table.listening(server().await.pool(2), server().await.config());
    let lock = DLock::builder()
        .name("lock")
        .poll_every(Duration::from_millis(200))
        .provider(Client::new(listening))
        .build()
        .unwrap();
    let waiter = tokio::spawn(async move { lock.acquire().await });
    until("the waiter listens", async || {
        server().await.listeners(table.schema()).await == 1
    })
    .await;
    assert!(!waiter.is_finished());
    transaction.batch_execute("COMMIT").await.unwrap();
    let lease = timeout(SOON, waiter).await.expect("it does not poll");
    lease.unwrap().unwrap().release().await.unwrap();
}
