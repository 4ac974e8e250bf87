//! Every public future of the frontend, each prepared, driven to its point, and checked afterwards. The scene checks
//! the properties that hold for all of them.

mod together;

use std::{
    future::{Future, pending},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use dlock_core::{Error, Guard, Ticket, TryAcquire};

use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use self::together::{
    acquire_permit, acquire_permit_timeout, hold_many, hold_many_timeout, many_ended, release_many,
    release_many_open, try_acquire_permit, try_hold_many, with_many, with_many_result,
};
use super::{
    gate::turn,
    stage::{Stage, ok},
};

/// For how many turns another client holds the lock.
const HELD_FOR: usize = 12;

/// Drives the future of one operation.
type Run = for<'a> fn(&'a mut Stage) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The behaviour of a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It requests the lock, so it can contend with others.
    Asks,
    /// It acts on a lease that is ours.
    Acts,
    /// It lasts until something happens to the lease.
    Watches,
}

/// One public future.
#[derive(Clone, Copy)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) run: Run,
}

macro_rules! operations {
    ($($kind:ident $name:literal $run:ident;)*) => {
        /// All operations.
        pub(super) const OPERATIONS: &[Operation] = &[$(Operation {
            name: $name,
            kind: Kind::$kind,
            run: |stage| Box::pin($run(stage)),
        }),*];
    };
}

operations! {
    Asks "DLock::try_acquire" try_acquire;
    Asks "DLock::acquire" acquire;
    Asks "DLock::acquire_timeout" acquire_timeout;
    Asks "DLock::hold" hold;
    Asks "DLock::with" with;
    Asks "DLock::with_result" with_result;
    Acts "Redeem::wait" redeem;
    Acts "Redeem::within" redeem_within;
    Acts "Redeem::once" redeem_once;
    Acts "DLock::read" read;
    Acts "DLock::idle" idle;
    Acts "Lease::renew" renew;
    Acts "Lease::release" release;
    Acts "Lease::release_open" release_open;
    Acts "Lease::with" lease_with;
    Acts "Lease::with_result" lease_with_result;
    Watches "Lease::keep_alive" keep_alive;
    Acts "Guard::release" guard_release;
    Acts "Guard::release_open" guard_release_open;
    Watches "LeaseView::ended" watch_ended;
    Watches "LeaseView::unsure" watch_unsure;
    Watches "LeaseView::settled" watch_settled;
    Watches "LeaseView::renewed" watch_renewed;
    Watches "LeaseView::until_asked" watch_until_asked;
    Acts "Client::close" close;
    Asks "MultiLock::try_hold" try_hold_many;
    Asks "MultiLock::hold" hold_many;
    Asks "MultiLock::hold_timeout" hold_many_timeout;
    Asks "MultiLock::with" with_many;
    Asks "MultiLock::with_result" with_many_result;
    Watches "MultiGuard::ended" many_ended;
    Acts "MultiGuard::release" release_many;
    Acts "MultiGuard::release_open" release_many_open;
    Acts "Semaphore::try_acquire" try_acquire_permit;
    Acts "Semaphore::acquire" acquire_permit;
    Acts "Semaphore::acquire_timeout" acquire_permit_timeout;
}

async fn try_acquire(stage: &mut Stage) {
    let lock = stage.lock.clone();
    if let Some(Ok(TryAcquire::Acquired(lease))) = stage.cut(lock.try_acquire()).await {
        assert!(lease.is_valid(), "handed out, and not valid");
    }
}

async fn acquire(stage: &mut Stage) {
    let lock = stage.lock.clone();
    if let Some(Ok(lease)) = stage.cut(lock.acquire()).await {
        assert!(lease.is_valid(), "handed out, and not valid");
    }
}

async fn acquire_timeout(stage: &mut Stage) {
    let lock = stage.lock.clone();
    let limit = lock.duration() / 2;
    if let Some(Ok(lease)) = stage.cut(lock.acquire_timeout(limit)).await {
        assert!(lease.is_valid(), "handed out, and not valid");
    }
}

async fn hold(stage: &mut Stage) {
    let lock = stage.lock.clone();
    if let Some(Ok(guard)) = stage.cut(lock.hold()).await {
        assert!(guard.is_valid(), "handed out, and not valid");
    }
}

async fn with(stage: &mut Stage) {
    let lock = stage.lock.clone();
    worked(
        stage,
        |held| async move { lock.with(|_token| work(held)).await },
    )
    .await;
}

async fn with_result(stage: &mut Stage) {
    let lock = stage.lock.clone();
    worked(stage, |held| async move {
        lock.with_result(|_token| fallible(held)).await
    })
    .await;
}

async fn lease_with(stage: &mut Stage) {
    let lease = stage.lease().await;
    worked(stage, |held| lease.with(|_token| work(held))).await;
}

async fn lease_with_result(stage: &mut Stage) {
    let lease = stage.lease().await;
    worked(stage, |held| lease.with_result(|_token| fallible(held))).await;
}

/// Drives a future that runs work under the lock; when the future is gone, so is the work.
async fn worked<F: Future>(stage: &mut Stage, future: impl FnOnce(Arc<()>) -> F) {
    let exists = Arc::new(());
    let working = future(Arc::clone(&exists));
    drop(stage.cut(working).await);
    assert_eq!(Arc::strong_count(&exists), 1, "the work still exists");
}

/// With a ticket that is no longer valid, so that it has to wait like every other waiter.
async fn redeem(stage: &mut Stage) {
    let lock = stage.lock.clone();
    let (ticket, holder) = worthless(stage).await;
    if let Some(Ok(lease)) = stage.cut(lock.redeem(&ticket).wait()).await {
        assert!(lease.is_valid(), "handed out, and not valid");
    }
    ok(holder.await);
}

async fn redeem_within(stage: &mut Stage) {
    let lock = stage.lock.clone();
    let (ticket, holder) = worthless(stage).await;
    let limit = lock.duration() / 2;
    if let Some(Ok(lease)) = stage.cut(lock.redeem(&ticket).within(limit)).await {
        assert!(lease.is_valid(), "handed out, and not valid");
    }
    ok(holder.await);
}

/// With a valid ticket: a request that was sent used it up, and one that was not left it valid.
async fn redeem_once(stage: &mut Stage) {
    let lock = stage.lock.clone();
    let ticket = ok(stage.lease().await.hand_over());
    if let Some(Ok(TryAcquire::Acquired(lease))) = stage.cut(lock.redeem(&ticket).once()).await {
        assert!(lease.is_valid(), "handed out, and not valid");
    }
    // In bad weather the lease expires, at the latest.
    if stage.fair() {
        let limit = lock.duration() / 24;
        let lease = ok(lock.redeem(&ticket).within(limit).await);
        assert!(lease.is_valid(), "handed out, and not valid");
    }
}

/// A ticket for a term that never existed. Another process holds the lock for a while.
async fn worthless(stage: &Stage) -> (Ticket, JoinHandle<()>) {
    let lease = stage.lease().await;
    let holder = crate::spawn(async move {
        for _ in 0..HELD_FOR {
            turn().await;
        }
        // In bad weather the release may get no answer.
        drop(lease.release().await);
    });
    let name = stage.lock.name();
    let ticket = format!("dlock-ticket-1:67e55044-10b1-426f-9247-bb680e5fe0c8:0:0:{name}");
    (ok(ticket.parse()), holder)
}

/// Work that takes a few polls, and holds this while it exists.
async fn work(held: Arc<()>) {
    for _ in 0..3 {
        turn().await;
    }
    drop(held);
}

async fn fallible(held: Arc<()>) -> Result<(), Error> {
    work(held).await;
    Ok(())
}

/// While a dropped lease is being released.
async fn idle(stage: &mut Stage) {
    drop(stage.lease().await);
    let lock = stage.lock.clone();
    if stage.cut(lock.idle()).await.is_some() {
        assert_eq!(stage.counts.under_way(), 0, "idle before the last answer");
    }
}

async fn read(stage: &mut Stage) {
    let lease = stage.lease().await;
    let lock = stage.lock.clone();
    if let Some(Ok(record)) = stage.cut(lock.read()).await {
        assert_eq!(record.map(|record| record.uuid), Some(lease.uuid()));
    }
    assert!(lease.is_valid() || !stage.fair(), "a look ended the lease");
}

async fn renew(stage: &mut Stage) {
    let mut lease = stage.lease().await;
    stage.part_of_the_lease().await;
    let (before, began) = (lease.remaining(), Instant::now());
    let ended = stage.cut(lease.renew()).await;
    if !stage.fair() {
        return;
    }
    assert!(!matches!(ended, Some(Err(_))), "{ended:?}");
    // A renewal that was sent counts once it is answered, even if its caller is gone.
    if stage.paused && stage.cut.polls > 0 {
        stage.part_of_the_lease().await;
        let unrenewed = before.saturating_sub(began.elapsed());
        assert!(lease.remaining() > unrenewed, "the success did not count");
    }
    assert!(lease.is_valid(), "a dropped renewal ended the lease");
}

async fn release(stage: &mut Stage) {
    let lease = stage.lease().await;
    let expired = lease.ended();
    drop(stage.cut(lease.release()).await);
    assert!(is_ready(expired), "valid after its release began");
}

async fn release_open(stage: &mut Stage) {
    let lease = stage.lease().await;
    let expired = lease.ended();
    drop(stage.cut(lease.release_open()).await);
    assert!(is_ready(expired), "valid after its release began");
}

async fn guard_release(stage: &mut Stage) {
    let guard = stage.guard().await;
    let lost = guard.ended();
    drop(stage.cut(guard.release()).await);
    assert!(is_ready(lost), "valid after its release began");
}

async fn guard_release_open(stage: &mut Stage) {
    let guard = stage.guard().await;
    let lost = guard.ended();
    drop(stage.cut(guard.release_open()).await);
    assert!(is_ready(lost), "valid after its release began");
}

async fn keep_alive(stage: &mut Stage) {
    let lease = stage.lease().await;
    let expired = lease.ended();
    let kept = async move {
        let _guard = lease.keep_alive();
        pending::<()>().await;
    };
    assert_eq!(stage.cut(kept).await, None);
    assert!(is_ready(expired), "valid after its guard was dropped");
}

async fn watch_ended(stage: &mut Stage) {
    watched(stage, |guard| guard.view().ended()).await;
}

async fn watch_unsure(stage: &mut Stage) {
    watched(stage, |guard| guard.view().unsure()).await;
}

async fn watch_until_asked(stage: &mut Stage) {
    watched(stage, |guard| guard.view().until_asked()).await;
}

/// Watches for an event that does not happen in fair weather.
async fn watched<F: Future>(stage: &mut Stage, future: impl FnOnce(&Guard) -> F) {
    let guard = stage.guard().await;
    let ended = stage.cut(future(&guard)).await;
    assert!(
        ended.is_none() || !stage.fair(),
        "notified of an event that did not happen"
    );
    assert!(
        guard.is_valid() || !stage.fair(),
        "watching ended the lease"
    );
}

/// On a lease that is unsure until its first renewal, which is late; in real time it is settled at once.
async fn watch_settled(stage: &mut Stage) {
    let lease = stage.lease().await;
    if stage.paused {
        sleep(stage.lock.duration() * 3 / 5).await;
    }
    let guard = lease.keep_alive();
    let _settled = stage.cut(guard.view().settled()).await;
    assert!(
        guard.is_valid() || !stage.fair(),
        "watching ended the lease"
    );
}

async fn watch_renewed(stage: &mut Stage) {
    let guard = stage.guard().await;
    let (before, began) = (guard.view().since_success(), Instant::now());
    if stage.cut(guard.view().renewed()).await.is_some() {
        let after = guard.view().since_success();
        let renewed = after < before + began.elapsed();
        assert!(renewed || !guard.is_valid(), "neither renewed nor over");
    }
    assert!(
        guard.is_valid() || !stage.fair(),
        "watching ended the lease"
    );
}

/// While a dropped lease is being released.
async fn close(stage: &mut Stage) {
    drop(stage.lease().await);
    let client = stage.client.clone();
    if let Some(left) = stage.cut(client.close()).await {
        assert_eq!(left, 0, "closed with a lease left");
        assert_eq!(stage.counts.under_way(), 0, "closed before the last answer");
    }
    if stage.cut.polls > 0 {
        let refused = ok_within(stage.lock.acquire(), stage.lock.duration()).await;
        assert!(matches!(refused, Err(Error::Closed)), "{refused:?}");
    }
}

async fn ok_within<F: Future>(future: F, limit: Duration) -> F::Output {
    ok(timeout(limit, future).await)
}

/// Whether a future is ready at once.
fn is_ready(future: impl Future) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(pin!(future).poll(&mut context), Poll::Ready(_))
}
