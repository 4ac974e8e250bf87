//! Locks over the provider, end to end and in actual calls: the way people use it. The rules of `dlock-core` itself
//! have separate cases, which authors of providers do not need to run.

use std::{fmt::Debug, future::Future, sync::Arc, time::Duration};

use dlock_core::{
    Client, DLock, Error, FencingToken, Holder, Lease, Provider, ReleaseEnd, Ticket, TryAcquire,
    provider::{Ask, AskOutcome, Revoke, RevokeOutcome},
};
use tokio::time::{Instant, sleep};

use crate::{
    Bench,
    faults::{Call, Faulty, Op},
    slow::{in_time, is_late, within},
};

use super::admin::both;

/// No case waits for its end.
const LONG: Duration = Duration::from_secs(60);

/// The limit, on any machine, for events that should take a moment.
const SOON: Duration = Duration::from_secs(10);

/// A lock of another process: `lock!(bench, duration, setting = value)`, or one over this provider:
/// `lock!(bench, duration, over provider, setting = value)`.
macro_rules! lock {
    ($bench:expr, $duration:expr, over $provider:expr $(, $setting:ident = $value:expr)*) => {
        ok(DLock::builder()
            .name($bench.name("").as_str())
            .provider(&Client::with_clock($provider, $bench.clock()))
            .duration($duration)
            $(.$setting($value))*
            .build())
    };
    ($bench:expr, $duration:expr $(, $setting:ident = $value:expr)*) => {
        lock!($bench, $duration, over $bench.provider().await $(, $setting = $value)*)
    };
}

mod turns;

pub(super) use self::turns::{contenders_take_turns, contenders_without_hints_take_turns};

pub(super) async fn clones_find_the_same_client(bench: Bench) {
    let name = bench.name("");
    let lock = |provider: Arc<dyn Provider>| {
        ok(DLock::builder()
            .name(name.as_str())
            .provider(provider)
            .build())
    };
    let locks: Vec<DLock> = bench.clones(3).await.into_iter().map(lock).collect();
    let lease = acquired(locks[0].try_acquire().await);
    for clone in &locks[1..] {
        let holder = held(clone.try_acquire().await);
        assert!(holder.ours, "a clone has a client of its own");
    }
    // Another provider is another process.
    let stranger = lock(bench.provider().await);
    assert!(!held(stranger.try_acquire().await).ours);
    ok(lease.release().await);
}

pub(super) async fn lock_is_held_until_it_is_released(bench: Bench) {
    let (a, b) = (lock!(bench, LONG, owner = "a"), lock!(bench, LONG));
    let guard = ok(a.hold().await);
    let holder = held(b.try_acquire().await);
    assert_eq!(holder.record.uuid, guard.uuid());
    assert_eq!((&*holder.record.owner, holder.ours), ("a", false));
    let token = guard.token();
    assert_eq!(ok(guard.release().await), ReleaseEnd::Released);
    let next = acquired(b.try_acquire().await);
    assert!(next.token() > token, "tokens grow (I3)");
    ok(next.release().await);
}

/// A client that finds the lock free and leaves it unwanted asks the store for nothing else. It opens its channel once.
pub(super) async fn work_of_a_lone_process_takes_two_calls(bench: Bench) {
    const PAIRS: usize = 20;
    let store = Faulty::new(bench.provider().await);
    let lock = lock!(bench, LONG, over store.clone());
    let mut last = None;
    for _ in 0..PAIRS {
        let token = ok(lock.with(|token| async move { token }).await);
        assert!(last.replace(token) < Some(token), "tokens grow (I3)");
    }
    let (watches, calls): (Vec<Call>, Vec<Call>) =
        (store.calls().into_iter()).partition(|call| call.op == Op::Watch);
    assert!(watches.len() <= 1, "{watches:?}");
    let answered = |call: &Call| matches!(call.answer, Some(Ok(_)));
    in_time(calls.iter().all(answered), "a call");
    let calls: Vec<Op> = calls.iter().map(|call| call.op).collect();
    assert_eq!(calls, [Op::Acquire, Op::Release].repeat(PAIRS));
}

pub(super) async fn dropped_guard_frees_the_lock(bench: Bench) {
    let (a, b) = (lock!(bench, LONG), lock!(bench, LONG));
    drop(ok(a.hold().await));
    ok(ok(b.acquire_timeout(SOON).await).release().await);
}

pub(super) async fn waiter_that_left_is_in_nobodys_way(bench: Bench) {
    let (a, b, c) = (lock!(bench, LONG), lock!(bench, LONG), lock!(bench, LONG));
    let guard = ok(a.hold().await);
    let waited = b.acquire_timeout(Duration::from_millis(200)).await;
    assert!(matches!(waited, Err(Error::Timeout { .. })), "{waited:?}");
    ok(guard.release().await);
    ok(ok(c.acquire_timeout(SOON).await).release().await);
}

pub(super) async fn kept_lease_outlives_its_duration(bench: Bench) {
    let (a, b) = (lock!(bench, bench.lease()), lock!(bench, bench.lease()));
    let guard = ok(a.hold().await);
    let began = Instant::now();
    while began.elapsed() < 3 * bench.lease() {
        let believed = Instant::now() + guard.remaining();
        kept_out(believed, b.try_acquire().await);
        in_time(guard.is_valid(), "the lease ended, and it is kept");
        sleep(bench.lease() / 5).await;
    }
    released(guard.release().await);
    ok(acquired(b.try_acquire().await).release().await);
}

/// As many leases as a store can renew one by one with time to spare.
pub(super) async fn many_leases_are_kept_at_once(bench: Bench) {
    let lock = lock!(bench, bench.lease());
    let asked = Instant::now();
    ok(lock.read().await);
    let call = asked.elapsed().max(Duration::from_millis(1));
    let room = (bench.lease() / 10).as_micros() / call.as_micros();
    let mut guards = Vec::new();
    for number in 0..room.clamp(2, 50) {
        let name = format!("{}/{number}", bench.name(""));
        guards.push(ok(ok(lock.named(name)).hold().await));
    }
    sleep(2 * bench.lease()).await;
    for guard in guards {
        in_time(guard.is_valid(), "a lease ended, and it is kept");
        released(guard.release().await);
    }
}

pub(super) async fn waiter_takes_over_from_a_dead_holder(bench: Bench) {
    let waiter = lock!(bench, LONG, poll_every = bench.lease() / 5);
    let (died, token) = dead_holder(&bench).await;
    let lease = ok(waiter.acquire_timeout(3 * bench.lease()).await);
    entered(&bench, died, token, &lease);
}

pub(super) async fn repeated_tries_take_over_from_a_dead_holder(bench: Bench) {
    let contender = lock!(bench, LONG);
    let (died, token) = dead_holder(&bench).await;
    let lease = loop {
        match ok(contender.try_acquire().await) {
            TryAcquire::Acquired(lease) => break lease,
            TryAcquire::Held(_) => sleep(bench.lease() / 10).await,
        }
    };
    entered(&bench, died, token, &lease);
}

pub(super) async fn stale_holder_knows_and_frees_nothing(bench: Bench) {
    let (a, b) = (lock!(bench, bench.lease()), lock!(bench, LONG));
    let stalled = acquired(a.try_acquire().await);
    let next = ok(b.acquire_timeout(3 * bench.lease()).await);
    assert!(!stalled.is_valid());
    assert!(next.token() > stalled.token(), "tokens grow (I3)");
    let ended = ok(stalled.release().await);
    in_time(ended != ReleaseEnd::Unconfirmed, "the release");
    assert!(
        matches!(ended, ReleaseEnd::NotHeld(_)),
        "a holder whose lease was taken over released it, and the answer was {ended:?} (L3, I9)"
    );
    let holder = held(lock!(bench, LONG).try_acquire().await);
    assert_eq!(holder.record.uuid, next.uuid());
}

pub(super) async fn release_reaches_a_waiter_at_once(bench: Bench) {
    // Polling alone would take longer.
    comes_in(&bench, 2 * SOON, true).await;
}

pub(super) async fn waiter_without_hints_polls(bench: Bench) {
    comes_in(&bench, Duration::from_millis(100), false).await;
}

async fn comes_in(bench: &Bench, poll: Duration, hints: bool) {
    let guard = ok(lock!(bench, LONG).hold().await);
    let store = Faulty::new(bench.provider().await);
    let waiter = lock!(bench, LONG, over store.clone(), poll_every = poll, wakeups = hints);
    let waiter = tokio::spawn(async move { waiter.acquire().await });
    // It was refused, and its channel was opened, which wakes it once.
    let answered = |op| {
        let calls = store.calls();
        let of = calls.iter().filter(|call| call.op == op);
        of.filter(|call| call.answer.is_some()).count()
    };
    let ready = async {
        while answered(Op::Acquire) == 0 || (hints && answered(Op::Watch) == 0) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    soon("the waiter's first answers", ready).await;
    sleep(Duration::from_millis(300)).await;
    assert!(!waiter.is_finished(), "in beside the holder");
    ok(guard.release().await);
    let next = ok(soon("the waiter", waiter).await);
    ok(ok(next).release().await);
}

pub(super) async fn early_release_closes_the_name(bench: Bench) {
    let closed = 2 * bench.lease();
    let lock = lock!(bench, LONG, at_least = closed);
    let other = lock!(bench, LONG, poll_every = bench.lease() / 5);
    let began = Instant::now();
    let lease = acquired(lock.try_acquire().await);
    let token = lease.token();
    released(lease.release().await);
    kept_out(began + closed, other.try_acquire().await);
    let next = ok(other.acquire_timeout(3 * closed).await);
    assert!(began.elapsed() >= closed, "{:?}", began.elapsed());
    assert!(next.token() > token, "tokens grow (I3)");
}

pub(super) async fn ticket_gives_the_lock_to_another_process(bench: Bench) {
    let (a, b) = (lock!(bench, LONG), lock!(bench, LONG));
    let lease = acquired(a.try_acquire().await);
    let token = lease.token();
    let ticket: Ticket = ok(ok(lease.hand_over()).to_string().parse());
    held(lock!(bench, LONG).try_acquire().await);
    let next = ok(soon("the lock", b.redeem(&ticket).wait()).await);
    assert!(next.token() > token, "tokens grow (I3)");
    held(a.redeem(&ticket).once().await);
    ok(next.release().await);
}

pub(super) async fn holder_hears_that_it_was_asked_and_revoked(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let guard = ok(lock!(bench, bench.lease()).hold().await);
    let (asked, ended) = (guard.view().until_asked(), guard.ended());
    let ask = Ask::new(bench.name(""), guard.uuid());
    assert_eq!(subject.ask(&*admin, &ask).await, AskOutcome::Asked);
    let told = SOON + bench.lease();
    within(told, "the request", asked).await;
    in_time(guard.is_valid(), "the lease ended, and it is kept");
    assert!(guard.asked());
    // A renewal in flight makes it another version.
    let mut revoked = false;
    for _ in 0..10 {
        let seen = subject.record(&bench.name("")).await.version();
        let revoke = ok(Revoke::new(bench.name(""), seen));
        revoked |= subject.revoke(&*admin, &revoke).await == RevokeOutcome::Revoked;
        if revoked {
            break;
        }
    }
    in_time(revoked, "each revocation came after another renewal");
    within(told, "the end", ended).await;
    assert!(!guard.is_valid());
    let next = lock!(bench, LONG);
    let next = ok(next.acquire_timeout(SOON + 3 * bench.lease()).await);
    ok(next.release().await);
}

/// A holder takes the lock and then disappears. Returns the instant from which its lease counts, and its token.
async fn dead_holder(bench: &Bench) -> (Instant, FencingToken) {
    let term = bench.term_of(&bench.name(""), bench.lease());
    let subject = bench.subject().await;
    let died = Instant::now();
    (died, subject.grants(&term).await)
}

/// Checks how long the successor of a dead holder was kept out.
fn entered(bench: &Bench, died: Instant, token: FencingToken, next: &Lease) {
    let (kept_out, lease) = (died.elapsed(), bench.lease());
    assert!(kept_out >= lease, "in after {kept_out:?} of {lease:?} (I1)");
    in_time(
        kept_out <= 2 * lease,
        format_args!("in after {kept_out:?} of {lease:?}"),
    );
    assert!(next.token() > token, "tokens grow (I3)");
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    within(SOON, what, future).await
}

#[track_caller]
fn ok<T, E: Debug + 'static>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => {
            in_time(!is_late(&error), format_args!("{error:?}"));
            panic!("this should have succeeded: {error:?}")
        }
    }
}

#[track_caller]
fn released(ended: Result<ReleaseEnd, Error>) {
    let ended = ok(ended);
    in_time(ended != ReleaseEnd::Unconfirmed, "the release");
    assert_eq!(ended, ReleaseEnd::Released);
}

/// A try that must be refused until this instant.
#[track_caller]
fn kept_out(until: Instant, answer: Result<TryAcquire, Error>) {
    if let TryAcquire::Acquired(lease) = ok(answer) {
        assert!(Instant::now() >= until, "two are inside (I1): {lease:?}");
        in_time(false, "the lease ended before the other's try was answered");
    }
}

#[track_caller]
fn acquired(answer: Result<TryAcquire, Error>) -> Lease {
    match ok(answer) {
        TryAcquire::Acquired(lease) => lease,
        TryAcquire::Held(holder) => panic!("this should have been granted: {holder:?}"),
    }
}

#[track_caller]
fn held(answer: Result<TryAcquire, Error>) -> Holder {
    match ok(answer) {
        TryAcquire::Held(holder) => holder,
        TryAcquire::Acquired(lease) => panic!("this should have been refused: {lease:?}"),
    }
}
