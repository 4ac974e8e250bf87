//! Common parts of the tests of wake-ups: waiters, and the hints they receive.

use std::time::Duration;

use dlock_core::{
    FencingToken, Name, Provider,
    provider::{Acquire, AcquireOutcome, Release, Wakeup, Wakeups},
};
use dlock_postgres::PostgresProvider;
use dlock_testkit::faults::{Faulty, Outcome};
use tokio::time::timeout;

use crate::support::{term, until};

/// No hint takes that long, and without a hint nothing arrives for an hour.
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

/// Waits until a waiter that never polls sleeps: it was refused, and once more when its channel was open.
pub(crate) async fn sleeps(asking: &Faulty<PostgresProvider>) {
    until("the waiter listens, and was refused again", async || {
        let calls = asking.calls();
        let refusals = calls.iter().filter(|call| match &call.answer {
            Some(Ok(Outcome::Acquire(outcome))) => matches!(outcome, AcquireOutcome::Held(_)),
            _ => false,
        });
        refusals.count() >= 2
    })
    .await;
}

pub(crate) async fn granted(provider: &PostgresProvider, request: &Acquire) -> FencingToken {
    match provider.acquire(request).await.unwrap() {
        AcquireOutcome::Acquired(tokens) => tokens.last(),
        other => panic!("it should be free: {other:?}"),
    }
}

/// Is refused, and leaves a mark.
pub(crate) async fn waits(provider: &PostgresProvider, lock: &str) {
    let refused = provider.acquire(&term(lock).marks(7)).await.unwrap();
    assert!(
        matches!(&refused, AcquireOutcome::Held(record) if record.wanted == 7),
        "{refused:?}"
    );
}

/// One term of this lock, in which a waiter is refused.
pub(crate) async fn use_wanted(provider: &PostgresProvider, lock: &str) {
    let a = term(lock);
    granted(provider, &a).await;
    waits(provider, lock).await;
    let release = Release::new(a.name.clone(), a.new, None);
    provider.release(&release).await.unwrap();
}
