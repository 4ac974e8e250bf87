//! Locks over the provider, from end to end and in real calls: what people will do with it. The rules of
//! `dlock-core` itself have cases of their own, which no author of a provider needs to run.

use std::{
    fmt::Debug,
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    Client, DLock, Error, FencingToken, Holder, Lease, Name, Provider, ReleaseEnd, Ticket,
    TryAcquire,
    provider::{Ask, AskOutcome, Revoke, RevokeOutcome},
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    Bench,
    faults::{Faulty, Op},
    stall::{self, Lag, Timed},
};

use super::admin::both;

/// No case waits for its end.
const LONG: Duration = Duration::from_secs(60);

/// What should take a moment, on whatever machine.
const SOON: Duration = Duration::from_secs(10);

/// One run of a case, with a lease of its own.
struct Round {
    bench: Bench,
    number: usize,
    lease: Duration,
    lag: Lag,
}

/// A lock of another process: `lock!(round, duration, setting = value)`.
macro_rules! lock {
    ($round:expr, $duration:expr $(, $setting:ident = $value:expr)* $(,)?) => {
        ok(DLock::builder()
            .name($round.name().as_str())
            .provider(&$round.client().await)
            .duration($duration)
            $(.$setting($value))*
            .build())
    };
}

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
    // Another provider is somebody else.
    let stranger = lock(bench.provider().await);
    assert!(!held(stranger.try_acquire().await).ours);
    ok(lease.release().await);
}

pub(super) async fn lock_is_held_until_it_is_released(bench: Bench) {
    let round = Round::of(bench);
    let (a, b) = (lock!(round, LONG, owner = "a"), lock!(round, LONG));
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

pub(super) async fn work_is_done_under_the_lock(bench: Bench) {
    let round = Round::of(bench);
    let (a, b) = (lock!(round, LONG), lock!(round, LONG));
    let other = b.clone();
    let work = |token: FencingToken| async move {
        held(other.try_acquire().await);
        token
    };
    let token = ok(a.with(work).await);
    assert!(
        acquired(b.try_acquire().await).token() > token,
        "tokens grow (I3)"
    );
}

pub(super) async fn dropped_guard_frees_the_lock(bench: Bench) {
    let round = Round::of(bench);
    let (a, b) = (lock!(round, LONG), lock!(round, LONG));
    drop(ok(a.hold().await));
    ok(ok(b.acquire_timeout(SOON).await).release().await);
}

pub(super) async fn waiter_that_left_is_in_nobodys_way(bench: Bench) {
    let round = Round::of(bench);
    let (a, b, c) = (lock!(round, LONG), lock!(round, LONG), lock!(round, LONG));
    let guard = ok(a.hold().await);
    let waited = b.acquire_timeout(Duration::from_millis(200)).await;
    assert!(matches!(waited, Err(Error::Timeout { .. })), "{waited:?}");
    ok(guard.release().await);
    ok(ok(c.acquire_timeout(SOON).await).release().await);
}

pub(super) async fn kept_lease_outlives_its_duration(bench: Bench) {
    rounds(bench, |round| async move {
        let (a, b) = (lock!(round, round.lease), lock!(round, round.lease));
        let guard = ok(a.hold().await);
        let began = Instant::now();
        while began.elapsed() < 3 * round.lease {
            assert!(guard.is_valid(), "after {:?}", began.elapsed());
            held(b.try_acquire().await);
            sleep(round.lease / 5).await;
        }
        ok(guard.release().await);
        ok(acquired(b.try_acquire().await).release().await);
    })
    .await;
}

/// As many as a store can renew one by one with time to spare.
pub(super) async fn many_leases_are_kept_at_once(bench: Bench) {
    rounds(bench, |round| async move {
        let lock = lock!(round, round.lease);
        let asked = Instant::now();
        ok(lock.read().await);
        let call = asked.elapsed().max(Duration::from_millis(1));
        let room = (round.lease / 10).as_micros() / call.as_micros();
        let mut guards = Vec::new();
        for number in 0..room.clamp(2, 50) {
            let name = format!("{}/{number}", round.name());
            guards.push(ok(ok(lock.named(name)).hold().await));
        }
        sleep(2 * round.lease).await;
        for guard in guards {
            assert!(guard.is_valid());
            assert_eq!(ok(guard.release().await), ReleaseEnd::Released);
        }
    })
    .await;
}

pub(super) async fn waiter_takes_over_from_a_dead_holder(bench: Bench) {
    rounds(bench, |round| async move {
        let waiter = lock!(round, LONG, poll_every = round.lease / 5);
        let (died, token) = round.dead_holder().await;
        let lease = ok(waiter.acquire_timeout(3 * round.lease).await);
        round.entered(died, token, &lease);
    })
    .await;
}

pub(super) async fn repeated_tries_take_over_from_a_dead_holder(bench: Bench) {
    rounds(bench, |round| async move {
        let contender = lock!(round, LONG);
        let (died, token) = round.dead_holder().await;
        let lease = loop {
            match ok(contender.try_acquire().await) {
                TryAcquire::Acquired(lease) => break lease,
                TryAcquire::Held(_) => sleep(round.lease / 10).await,
            }
        };
        round.entered(died, token, &lease);
    })
    .await;
}

pub(super) async fn stale_holder_knows_and_frees_nothing(bench: Bench) {
    rounds(bench, |round| async move {
        let (a, b) = (lock!(round, round.lease), lock!(round, LONG));
        let stalled = acquired(a.try_acquire().await);
        let next = ok(b.acquire_timeout(3 * round.lease).await);
        assert!(!stalled.is_valid());
        assert!(next.token() > stalled.token(), "tokens grow (I3)");
        let ended = ok(stalled.release().await);
        assert!(
            matches!(ended, ReleaseEnd::NotHeld(_)),
            "a holder whose lease was taken over gave it back, and was told {ended:?} (L3, I9)"
        );
        let holder = held(lock!(round, LONG).try_acquire().await);
        assert_eq!(holder.record.uuid, next.uuid());
    })
    .await;
}

pub(super) async fn release_reaches_a_waiter_at_once(bench: Bench) {
    let round = Round::of(bench);
    // Polling alone would take longer.
    comes_in(&round, 2 * SOON, true).await;
}

pub(super) async fn waiter_without_hints_polls(bench: Bench) {
    let round = Round::of(bench);
    comes_in(&round, Duration::from_millis(100), false).await;
}

async fn comes_in(round: &Round, poll: Duration, hints: bool) {
    let guard = ok(lock!(round, LONG).hold().await);
    let store = Faulty::new(round.bench.provider().await);
    let waiter = ok(DLock::builder()
        .name(round.name().as_str())
        .provider(Client::with_clock(store.clone(), round.bench.clock()))
        .duration(LONG)
        .poll_every(poll)
        .wakeups(hints)
        .build());
    let waiter = tokio::spawn(async move { waiter.acquire().await });
    // Refused, and its channel open, which wakes it once.
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

pub(super) async fn contenders_take_turns(bench: Bench) {
    turns_are_taken(bench, true).await;
}

pub(super) async fn contenders_without_hints_take_turns(bench: Bench) {
    turns_are_taken(bench, false).await;
}

/// Four processes of two tasks each go on until each process has had its turns: none keeps another out.
async fn turns_are_taken(bench: Bench, hints: bool) {
    const PROCESSES: usize = 4;
    const TURNS: usize = 4;
    rounds(bench, |round| async move {
        let lease = (2 * round.lease).max(Duration::from_secs(1));
        let inside = Arc::new(AtomicBool::new(false));
        let terms: Terms = Arc::default();
        let mut tasks = JoinSet::new();
        for process in 0..PROCESSES {
            let owner = format!("process {process}");
            let lock = lock!(round, lease, wakeups = hints, owner = owner);
            for _ in 0..2 {
                tasks.spawn(contend(
                    lock.clone(),
                    process,
                    Arc::clone(&inside),
                    Arc::clone(&terms),
                ));
            }
        }
        let all_had_theirs = async {
            loop {
                if let Some(ended) = timeout(lease / 10, tasks.join_next()).await.ok().flatten() {
                    ok(ended);
                }
                let turns = turns(&terms);
                let had = |process| turns.iter().filter(|by| **by == process).count();
                if (0..PROCESSES).all(|process| had(process) >= TURNS) {
                    break;
                }
            }
        };
        let limit = 2 * SOON + 8 * lease;
        if timeout(limit, all_had_theirs).await.is_err() {
            let turns = turns(&terms);
            panic!(
                "one of {PROCESSES} processes had less than {TURNS} turns in {limit:?}: {turns:?}"
            );
        }
        let terms = terms.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(
            terms.is_sorted_by_key(|(_, token)| *token),
            "tokens grow (I3): {terms:?}"
        );
    })
    .await;
}

/// Whose term it was, and its token, one after the other.
type Terms = Arc<Mutex<Vec<(usize, FencingToken)>>>;

/// A turn is all terms of a process between those of others.
fn turns(terms: &Terms) -> Vec<usize> {
    let terms = terms.lock().unwrap_or_else(PoisonError::into_inner);
    let mut turns: Vec<usize> = terms.iter().map(|(process, _)| *process).collect();
    turns.dedup();
    turns
}

async fn contend(lock: DLock, process: usize, inside: Arc<AtomicBool>, terms: Terms) {
    loop {
        let lease = ok(lock.acquire().await);
        assert!(!inside.swap(true, Ordering::SeqCst), "two are inside");
        terms
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((process, lease.token()));
        sleep(Duration::from_millis(10)).await;
        inside.store(false, Ordering::SeqCst);
        ok(lease.release().await);
    }
}

pub(super) async fn early_release_closes_the_name(bench: Bench) {
    rounds(bench, |round| async move {
        let closed = 2 * round.lease;
        let lock = lock!(round, LONG, at_least = closed);
        let other = lock!(round, LONG, poll_every = round.lease / 5);
        let began = Instant::now();
        let lease = acquired(lock.try_acquire().await);
        let token = lease.token();
        assert_eq!(ok(lease.release().await), ReleaseEnd::Released);
        held(other.try_acquire().await);
        let next = ok(other.acquire_timeout(3 * closed).await);
        assert!(began.elapsed() >= closed, "{:?}", began.elapsed());
        assert!(next.token() > token, "tokens grow (I3)");
    })
    .await;
}

pub(super) async fn ticket_gives_the_lock_to_another_process(bench: Bench) {
    let round = Round::of(bench);
    let (a, b) = (lock!(round, LONG), lock!(round, LONG));
    let lease = acquired(a.try_acquire().await);
    let token = lease.token();
    let ticket: Ticket = ok(ok(lease.hand_over()).to_string().parse());
    held(lock!(round, LONG).try_acquire().await);
    let next = ok(soon("the lock", b.redeem(&ticket)).await);
    assert!(next.token() > token, "tokens grow (I3)");
    held(a.try_redeem(&ticket).await);
    ok(next.release().await);
}

pub(super) async fn holder_hears_that_it_was_asked_and_revoked(bench: Bench) {
    rounds(bench, |round| async move {
        let (admin, subject) = both(&round.bench).await;
        let guard = ok(lock!(round, round.lease).hold().await);
        let (asked, ended) = (guard.watch().until_asked(), guard.ended());
        let ask = Ask::new(round.name(), guard.uuid());
        assert_eq!(subject.ask(&*admin, &ask).await, AskOutcome::Asked);
        let told = SOON + round.lease;
        within(told, "the request", asked).await;
        assert!(guard.is_valid() && guard.asked());
        // A renewal on its way makes another version of it.
        let mut revoked = false;
        for _ in 0..10 {
            let seen = subject.record(&round.name()).await.version();
            let revoke = ok(Revoke::new(round.name(), seen));
            revoked |= subject.revoke(&*admin, &revoke).await == RevokeOutcome::Revoked;
            if revoked {
                break;
            }
        }
        assert!(revoked, "it changes whenever it is revoked");
        within(told, "the end", ended).await;
        assert!(!guard.is_valid());
        let next = lock!(round, LONG);
        let next = ok(next.acquire_timeout(SOON + 3 * round.lease).await);
        ok(next.release().await);
    })
    .await;
}

/// Runs a case that measures with the fixture's lease, and with a longer one where the machine stalled.
async fn rounds<Fut>(bench: Bench, case: impl Fn(Round) -> Fut + Send + Sync)
where
    Fut: Future<Output = ()> + Send,
{
    let ask = || async {
        let asked = bench.provider().await.read(&bench.name("a question")).await;
        // Only its time matters.
        drop(asked);
    };
    stall::rounds(bench.leases(), ask, |number, lease, lag| {
        case(Round {
            bench: bench.clone(),
            number,
            lease,
            lag,
        })
    })
    .await;
}

impl Round {
    /// The only one of a case that measures nothing.
    fn of(bench: Bench) -> Self {
        Self {
            lease: bench.lease(),
            bench,
            number: 0,
            lag: Lag::default(),
        }
    }

    fn name(&self) -> Name {
        self.bench.name(&self.number.to_string())
    }

    async fn client(&self) -> Client {
        let provider = Timed::new(self.bench.provider().await, self.lag.clone());
        Client::with_clock(provider, self.bench.clock())
    }

    /// Somebody takes the lock and is heard of no more: from when on it counts, and its token.
    async fn dead_holder(&self) -> (Instant, FencingToken) {
        let term = self.bench.term_of(&self.name(), self.lease);
        let subject = self.bench.subject().await;
        let died = Instant::now();
        (died, self.lag.time(subject.grants(&term)).await)
    }

    /// Checks when its successor came.
    fn entered(&self, died: Instant, token: FencingToken, next: &Lease) {
        let (kept_out, lease) = (died.elapsed(), self.lease);
        assert!(kept_out >= lease, "in after {kept_out:?} of {lease:?} (I1)");
        assert!(kept_out <= 2 * lease, "in after {kept_out:?} of {lease:?}");
        assert!(next.token() > token, "tokens grow (I3)");
    }
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    within(SOON, what, future).await
}

async fn within<T>(limit: Duration, what: &str, future: impl Future<Output = T>) -> T {
    match timeout(limit, future).await {
        Ok(value) => value,
        Err(_elapsed) => panic!("{what}: not within {limit:?}"),
    }
}

#[track_caller]
fn ok<T, E: Debug>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("this should have succeeded: {error:?}"),
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
