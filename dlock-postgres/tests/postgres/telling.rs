//! A release notifies only if a session listens for its lock, and a waiter that begins to wait beside it is woken (W3).

use std::time::Duration;

use dlock_core::{
    Client, DLock, Provider,
    provider::{Release, ReleaseOutcome, Wakeup},
};
use dlock_postgres::deadpool_postgres::tokio_postgres::error::SqlState;
use tokio::time::{sleep, timeout};

use crate::{
    hearing::{SOON, granted, heard, said, use_before, waits, watch},
    support::{Server, Table, create, fresh, listening, name, server, term, until},
};

/// A poll later than the end of any test: a waiter that gets the lock was woken.
const NEVER: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn release_that_nobody_waits_for_notifies_nobody() {
    let table = Table::create().await;
    let listening = || async { table.listening(server().await.pool(2), server().await.config()) };
    let (provider, other) = (listening().await, listening().await);
    let (mut ours, mut theirs) = (watch(&provider).await, watch(&other).await);
    let a = term("waited for by nobody");
    granted(&provider, &a).await;
    let release = Release::new(a.name.clone(), a.new, None);
    let released = provider.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released { wanted: false });
    use_before(&provider, &mut ours, "waited for").await;
    // Whatever is notified, both sessions hear.
    for stream in [&mut ours, &mut theirs] {
        assert_eq!(heard(stream).await, name("waited for"));
    }
}

/// What the release tries to have alone it has got, and so it told nobody.
#[tokio::test]
async fn waiter_that_a_long_release_kept_from_listening_enters_after_it() {
    let table = Table::create().await;
    let silent = table.provider(server().await.pool(1));
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

    let listening = table.listening(server().await.pool(2), server().await.config());
    let lock = DLock::builder()
        .name("lock")
        .poll_every(NEVER)
        .provider(Client::new(listening))
        .build()
        .unwrap();
    let waiter = tokio::spawn(async move { lock.acquire().await });
    until("the waiter listens", async || {
        server().await.listeners(table.schema()).await == 1
    })
    .await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(
        said(server().await, table.schema()).await,
        0,
        "the release has the lock"
    );
    assert!(!waiter.is_finished());
    transaction.batch_execute("COMMIT").await.unwrap();
    let lease = timeout(SOON, waiter).await.expect("nobody told it");
    lease.unwrap().unwrap().release().await.unwrap();
}

/// It is no reason to open the channel again and again, which wakes everyone each time.
#[tokio::test]
async fn session_listens_on_while_the_table_of_locks_is_full() {
    let server = Server::start(&["max_locks_per_transaction=10"]).await;
    let schema = fresh();
    let provider = listening(server.pool(2), &schema, server.config());
    create(&provider).await;
    let mut stream = watch(&provider).await;
    let a = term("lock");
    granted(&provider, &a).await;
    let others = server.client().await;
    let fill = "SELECT pg_advisory_lock(n) FROM generate_series(1, 1000000) AS n";
    let full = others.execute(fill, &[]).await.unwrap_err();
    assert_eq!(full.code(), Some(&SqlState::OUT_OF_MEMORY), "{full}");
    waits(&provider, &mut stream, "lock").await;
    // It is woken with each try.
    assert_eq!(heard(&mut stream).await, a.name);
    let empty = "SELECT pg_advisory_unlock_all()";
    others.execute(empty, &[]).await.unwrap();
    until("the session says so", async || {
        said(&server, &schema).await == 1
    })
    .await;
    // It was woken as long as it had not.
    while timeout(Duration::from_secs(3), stream.next())
        .await
        .is_ok_and(|hint| hint.is_some())
    {}
    let release = Release::new(a.name.clone(), a.new, None);
    provider.release(&release).await.unwrap();
    assert_eq!(heard(&mut stream).await, a.name);
}

#[tokio::test]
async fn session_says_no_more_that_it_listens_once_the_wait_is_over() {
    let table = Table::create().await;
    let provider = table.listening(server().await.pool(2), server().await.config());
    let mut stream = watch(&provider).await;
    assert_eq!(said(server().await, table.schema()).await, 0);
    granted(&provider, &term("long")).await;
    waits(&provider, &mut stream, "long").await;
    assert_eq!(said(server().await, table.schema()).await, 1);
    // Another name where both locks have one number, or where the machine was so slow that the wait is over.
    let mut brief = term("brief");
    let mut both = false;
    for n in 0..6 {
        brief = term(&format!("brief {n}"));
        brief.duration = Duration::from_secs(1 << n);
        granted(&provider, &brief).await;
        waits(&provider, &mut stream, brief.name.as_str()).await;
        both = said(server().await, table.schema()).await == 2;
        if both {
            break;
        }
    }
    assert!(both);
    until("one wait is over", async || {
        said(server().await, table.schema()).await == 1
    })
    .await;
    use_before(&provider, &mut stream, brief.name.as_str()).await;
    assert_eq!(heard(&mut stream).await, brief.name);
}

/// The server's table of locks is for all who use it.
#[tokio::test]
async fn session_that_waits_for_many_locks_has_few_locks_of_the_server() {
    const MANY: usize = 300;
    let table = Table::create().await;
    let provider = table.listening(server().await.pool(2), server().await.config());
    let mut stream = watch(&provider).await;
    let mut woken = 0;
    for n in 0..MANY {
        granted(&provider, &term(&format!("lock {n}"))).await;
        let refused = provider.acquire(&term(&format!("lock {n}"))).await;
        assert!(refused.is_ok());
    }
    while woken < MANY {
        match timeout(SOON, stream.next())
            .await
            .expect("one is not woken")
        {
            Some(Wakeup::Name(_)) => woken += 1,
            other => panic!("{other:?}"),
        }
    }
    let said = said(server().await, table.schema()).await;
    assert!((64..=128).contains(&said), "{said} locks");
    let last = name(&format!("lock {}", MANY - 1));
    let record = provider.read(&last).await.unwrap().unwrap();
    let release = Release::new(last.clone(), record.uuid, None);
    provider.release(&release).await.unwrap();
    assert_eq!(heard(&mut stream).await, last);
}
