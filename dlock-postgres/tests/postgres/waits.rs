//! A call that waited for another's commit reads again: its answer is about the record as it is
//! then. Each wait is arranged by hand, by a session that changes the row first and commits later.

use std::time::SystemTime;

use dlock_core::{
    Provider,
    provider::{Acquire, AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome, Version},
};
use dlock_postgres::{PostgresProvider, deadpool_postgres::tokio_postgres::Client};
use tokio::task::JoinHandle;

use crate::support::{create, fresh, on, server, term, until};

const RENEWED: RenewOutcome = RenewOutcome::Renewed { asked: false };

/// A lock with a holder, and a session that is about to change it.
struct Slow {
    provider: PostgresProvider,
    schema: String,
    holder: Acquire,
    session: Client,
}

impl Slow {
    async fn new(holder: Acquire) -> Self {
        let schema = fresh();
        let provider = on(server().await.pool(4), &schema);
        create(&provider).await;
        provider.acquire(&holder).await.unwrap();
        server().await.wait_for_rows(&schema).await;
        Self {
            provider,
            schema,
            holder,
            session: server().await.client().await,
        }
    }

    /// Changes the row without a commit. `{schema}` is the schema, `{uuid}` the holder's.
    async fn begin(&self, change: &str) {
        self.session.batch_execute("BEGIN").await.unwrap();
        self.change(change).await;
    }

    async fn change(&self, change: &str) {
        let change = change
            .replace("{schema}", &format!("\"{}\"", self.schema))
            .replace("{uuid}", &format!("'{}'", self.holder.new));
        self.session.batch_execute(&change).await.unwrap();
    }

    async fn until_it_waits<T>(&self, call: &JoinHandle<T>) {
        until("the call waits for the row", async || {
            assert!(!call.is_finished(), "it did not wait");
            !server().await.blocked(&self.schema).await.is_empty()
        })
        .await;
    }

    /// Commits the change once the call waits for it, and gives the call's answer.
    async fn commit<T>(&self, call: JoinHandle<T>) -> T {
        self.until_it_waits(&call).await;
        self.session.batch_execute("COMMIT").await.unwrap();
        call.await.unwrap()
    }

    fn acquire(&self, request: Acquire) -> JoinHandle<AcquireOutcome> {
        let provider = self.provider.clone();
        tokio::spawn(async move { provider.acquire(&request).await.unwrap() })
    }

    fn renew(&self, n: u64) -> JoinHandle<RenewOutcome> {
        let provider = self.provider.clone();
        let request = Renew::new(self.holder.name.clone(), self.holder.new, n);
        tokio::spawn(async move { provider.renew(&request).await.unwrap() })
    }

    fn release(&self) -> JoinHandle<ReleaseOutcome> {
        let provider = self.provider.clone();
        let request = Release::new(self.holder.name.clone(), self.holder.new, None);
        tokio::spawn(async move { provider.release(&request).await.unwrap() })
    }
}

const RENEW: &str = "SELECT FROM {schema}.lock_renew_1('', 'lock', {uuid}, 1)";
const RELEASE: &str = "SELECT FROM {schema}.lock_release_1('', 'lock', {uuid}, NULL)";
/// An acquire that claims the holder's version and so takes the lock.
const TAKE: &str = "SELECT FROM {schema}.lock_acquire_1('', 'lock', 'the next', {uuid}, 0,
    '00000000-0000-4000-8000-000000000001', 600000, NULL, 0, 1, 0)";
/// A refused attempt that leaves a mark.
const MARK: &str = "SELECT FROM {schema}.lock_acquire_1('', 'lock', 'a waiter', NULL, NULL,
    '00000000-0000-4000-8000-000000000002', 600000, NULL, 0, 1, 5)";

#[tokio::test]
async fn claim_that_waited_for_a_renewal_is_refused() {
    let slow = Slow::new(term("lock")).await;
    slow.begin(RENEW).await;
    let seen = Version {
        uuid: slow.holder.new,
        renewals: 0,
    };
    let claim = slow.acquire(term("lock").prev(Some(seen)));
    let outcome = slow.commit(claim).await;
    assert!(
        matches!(&outcome, AcquireOutcome::Held(record) if record.renewals == 1),
        "{outcome:?}"
    );
    assert_eq!(slow.renew(2).await.unwrap(), RENEWED);
}

#[tokio::test]
async fn takeover_that_waited_for_another_is_refused_by_its_winner() {
    let slow = Slow::new(term("lock")).await;
    slow.release().await.unwrap();
    slow.begin(TAKE).await;
    let outcome = slow.commit(slow.acquire(term("lock"))).await;
    assert!(
        matches!(&outcome, AcquireOutcome::Held(record) if record.owner == "the next" && !record.released),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn takeover_of_an_expired_lock_that_waited_for_its_last_renewal_is_refused() {
    let slow = Slow::new(term("lock")).await;
    // Renewed in time, but committed when the lease looks expired to every other client.
    slow.change("UPDATE {schema}.lock SET expiry = now() - interval '1 second'")
        .await;
    slow.begin("UPDATE {schema}.lock SET renewals = 1, expiry = now() + interval '10 minutes'")
        .await;
    let outcome = slow.commit(slow.acquire(term("lock"))).await;
    assert!(
        matches!(&outcome, AcquireOutcome::Held(record) if record.renewals == 1),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn first_acquire_that_waited_for_another_is_refused_by_its_winner() {
    let slow = Slow::new(term("elsewhere")).await;
    slow.begin(TAKE).await;
    let outcome = slow.commit(slow.acquire(term("lock"))).await;
    assert!(
        matches!(&outcome, AcquireOutcome::Held(record) if record.owner == "the next"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn mark_that_waited_is_left_in_the_term_that_is_held_then() {
    for (change, renewals, by, wanted) in [
        (RENEW, 1, "a test", 7),
        (TAKE, 0, "the next", 7),
        (MARK, 0, "a test", 5),
    ] {
        let slow = Slow::new(term("lock")).await;
        slow.begin(change).await;
        let outcome = slow.commit(slow.acquire(term("lock").marks(7))).await;
        let AcquireOutcome::Held(record) = outcome else {
            panic!("{change}: {outcome:?}");
        };
        let found = (record.renewals, record.owner.as_str(), record.wanted);
        assert_eq!(found, (renewals, by, wanted), "{change}");
        let read = slow.provider.read(&slow.holder.name).await.unwrap();
        assert_eq!(read.unwrap().wanted, wanted, "{change}");
    }
}

#[tokio::test]
async fn mark_that_waited_for_a_release_takes_the_lock() {
    let slow = Slow::new(term("lock")).await;
    slow.begin(RELEASE).await;
    let outcome = slow.commit(slow.acquire(term("lock").marks(7))).await;
    assert!(
        matches!(outcome, AcquireOutcome::Acquired(_)),
        "{outcome:?}"
    );
    let record = slow.provider.read(&slow.holder.name).await.unwrap();
    assert_eq!(record.unwrap().wanted, 0);
}

#[tokio::test]
async fn claim_that_waited_for_a_mark_keeps_it_and_a_release_says_so() {
    let slow = Slow::new(term("lock")).await;
    let seen = Version {
        uuid: slow.holder.new,
        renewals: 0,
    };
    slow.begin(MARK).await;
    let claim = term("lock").prev(Some(seen));
    let release = Release::new(claim.name.clone(), claim.new, None);
    let outcome = slow.commit(slow.acquire(claim)).await;
    assert!(
        matches!(outcome, AcquireOutcome::Acquired(_)),
        "{outcome:?}"
    );
    let released = slow.provider.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released { wanted: true });

    let slow = Slow::new(term("lock")).await;
    slow.begin(MARK).await;
    let released = slow.commit(slow.release()).await;
    assert_eq!(released, ReleaseOutcome::Released { wanted: true });
}

#[tokio::test]
async fn renewal_that_waited_for_a_takeover_is_lost_to_it() {
    let slow = Slow::new(term("lock")).await;
    slow.begin(TAKE).await;
    let outcome = slow.commit(slow.renew(1)).await;
    assert!(
        matches!(&outcome, RenewOutcome::Lost(Some(record)) if record.owner == "the next"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn renewal_that_waited_for_a_later_one_is_a_success_that_changes_nothing() {
    let slow = Slow::new(term("lock")).await;
    slow.begin(&RENEW.replace(", 1)", ", 9)")).await;
    assert_eq!(slow.commit(slow.renew(3)).await, RENEWED);
    let record = slow
        .provider
        .read(&slow.holder.name)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(record.renewals, 9);
}

#[tokio::test]
async fn renewal_that_waited_for_the_release_is_lost() {
    let slow = Slow::new(term("lock")).await;
    slow.begin(RELEASE).await;
    let outcome = slow.commit(slow.renew(1)).await;
    assert!(
        matches!(&outcome, RenewOutcome::Lost(Some(record)) if record.released),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn release_that_waited_for_a_takeover_is_told_of_it() {
    let slow = Slow::new(term("lock")).await;
    slow.begin(TAKE).await;
    let outcome = slow.commit(slow.release()).await;
    assert!(
        matches!(&outcome, ReleaseOutcome::NotHeld(Some(record)) if record.owner == "the next"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn release_that_waited_for_a_renewal_ends_the_term() {
    let slow = Slow::new(term("lock")).await;
    slow.begin(RENEW).await;
    assert_eq!(
        slow.commit(slow.release()).await,
        ReleaseOutcome::Released { wanted: false }
    );
    let record = slow
        .provider
        .read(&slow.holder.name)
        .await
        .unwrap()
        .unwrap();
    assert!(record.released && record.renewals == 1, "{record:?}");
}

#[tokio::test]
async fn lease_counts_from_the_end_of_the_wait() {
    let slow = Slow::new(term("lock")).await;
    slow.begin("UPDATE {schema}.lock SET asked = true").await;
    let renewal = slow.renew(1);
    slow.until_it_waits(&renewal).await;
    // Longer than the rounding of expiries.
    let ended = "SELECT clock_timestamp() FROM (SELECT pg_sleep(0.01)) AS pause";
    let ended: SystemTime = slow.session.query_one(ended, &[]).await.unwrap().get(0);
    assert_eq!(
        slow.commit(renewal).await,
        RenewOutcome::Renewed { asked: true }
    );
    let expiry = format!("SELECT expiry FROM \"{}\".lock", slow.schema);
    let expiry: SystemTime = slow.session.query_one(&expiry, &[]).await.unwrap().get(0);
    assert!(expiry >= ended + slow.holder.duration);
}
