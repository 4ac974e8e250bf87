//! N7: a store sends the hint of a release before the answer or after it, and neither order costs others their turn.

use dlock_core::{DLock, Error, Lease};
use dlock_testkit::{
    Bench,
    faults::{Fault, Op},
};
use tokio::{task::JoinHandle, time::sleep};

use super::{
    fairness::{HOUR, MARK, MILLISECOND, hears},
    harness::{Harness, Round, joined, lock, ok, rounds, settle, soon, waiting},
};

/// A lease that another client wants, whose client knows nothing of others yet.
struct Wanted {
    harness: Harness,
    lease: Lease,
    /// The next waiter of the lease's client.
    again: JoinHandle<Result<Lease, Error>>,
}

impl Wanted {
    async fn new(round: &Round) -> Self {
        let harness = round.harness().await;
        hears(&harness, None).await;
        let lock: DLock = lock!(harness, "", poll_every = HOUR);
        let lease = ok(soon("the lock", lock.acquire()).await);
        let again = waiting(&lock);
        settle().await;
        let other = harness.bench().term(&harness.name("")).marks(MARK);
        harness.subject().await.refuses(&other).await;
        Self {
            harness,
            lease,
            again,
        }
    }
}

/// Only the answer tells whether others want the lock.
pub(crate) async fn hint_before_the_answer_to_its_release_ends_no_delay(bench: Bench) {
    rounds(bench, |round| async move {
        let Wanted {
            harness,
            lease,
            again,
        } = Wanted::new(&round).await;
        let asked = harness.acquires().len();
        let late = Fault::DelayReply(10 * MILLISECOND);
        harness.store.next(Op::Release, late);
        let release = crate::spawn(lease.release());
        sleep(9 * MILLISECOND).await;
        assert_eq!(harness.acquires().len(), asked, "asks before the answer");
        ok(joined(release).await);
        sleep(3 * MILLISECOND).await;
        assert_eq!(harness.acquires().len(), asked, "asks before any other can");
        assert!(ok(joined(again).await).is_valid());
    })
    .await;
}

pub(crate) async fn hint_after_the_answer_to_its_first_wanted_release_ends_no_delay(bench: Bench) {
    rounds(bench, |round| async move {
        let Wanted {
            harness,
            lease,
            again,
        } = Wanted::new(&round).await;
        harness.store.mute_wakeups(true);
        ok(soon("the release", lease.release()).await);
        let asked = harness.acquires().len();
        // In place of the hint: the end of the channel, which stands for a hint of every name.
        harness.store.break_watches();
        sleep(3 * MILLISECOND).await;
        assert_eq!(harness.acquires().len(), asked, "asks before any other can");
        assert!(ok(joined(again).await).is_valid());
    })
    .await;
}
