//! What the tests of wake-ups share: waiters, and what they hear.

use std::time::Duration;

use dlock_core::{
    FencingToken, Name, Provider,
    provider::{Acquire, AcquireOutcome, Release, Wakeup, Wakeups},
};
use dlock_postgres::PostgresProvider;
use tokio::time::timeout;

use crate::support::{Server, name, term};

/// No hint takes that long, and without one nothing comes for an hour.
pub(crate) const SOON: Duration = Duration::from_secs(60);

pub(crate) async fn watch(provider: &PostgresProvider) -> Wakeups {
    provider.watch().await.unwrap().expect("it listens")
}

/// The next hint, which has to be about one lock.
pub(crate) async fn heard(stream: &mut Wakeups) -> Name {
    match timeout(SOON, stream.next()).await {
        Ok(Some(Wakeup::Name(name))) => name,
        other => panic!("no hint about one lock: {other:?}"),
    }
}

pub(crate) async fn granted(provider: &PostgresProvider, request: &Acquire) -> FencingToken {
    match provider.acquire(request).await.unwrap() {
        AcquireOutcome::Acquired(tokens) => tokens.last(),
        other => panic!("it should be free: {other:?}"),
    }
}

/// Is refused, and has said in the database that it listens for the lock.
pub(crate) async fn waits(provider: &PostgresProvider, stream: &mut Wakeups, lock: &str) {
    let refused = provider.acquire(&term(lock)).await.unwrap();
    assert!(matches!(refused, AcquireOutcome::Held(_)), "{refused:?}");
    // What it asks from here on misses no release.
    assert_eq!(heard(stream).await, name(lock));
}

/// One term of this lock, for which somebody waits from its beginning to its release.
pub(crate) async fn use_before(provider: &PostgresProvider, stream: &mut Wakeups, lock: &str) {
    let a = term(lock);
    granted(provider, &a).await;
    waits(provider, stream, lock).await;
    let release = Release::new(a.name.clone(), a.new, None);
    provider.release(&release).await.unwrap();
}

/// How many locks of the database say for what the sessions of this name listen.
pub(crate) async fn said(server: &Server, application: &str) -> i64 {
    let count = "SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
        WHERE l.locktype = 'advisory' AND l.mode = 'ShareLock' AND l.granted AND a.application_name = $1";
    let client = server.client().await;
    let row = client.query_one(count, &[&application]).await;
    row.unwrap().get(0)
}
