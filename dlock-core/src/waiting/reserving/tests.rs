use std::{future::pending, pin::pin, time::UNIX_EPOCH};

use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::*;
use crate::{
    DLock,
    provider::{AcquireOutcome, Capabilities, Closing, Discipline},
    tests::{
        poll_once,
        scripted::{LEASE, Scripted},
    },
    time::{ManualClock, Plan},
    waiting::tests::{begin_outage, contender, holder},
};

const POLL: Duration = Duration::from_millis(100);

/// A waiter that looks at the lock.
struct Waiter {
    seen: PassedOver,
    clock: Clock,
    hand: ManualClock,
}

impl Waiter {
    fn new() -> Self {
        let (clock, hand) = Clock::manual();
        Self {
            seen: PassedOver::default(),
            clock,
            hand,
        }
    }

    /// Whether it is passed over, as far as it knows after it has seen this term.
    fn sees(&mut self, owner: &str, token: u64) -> bool {
        self.seen.by(&record(owner, token), POLL, &self.clock)
    }

    fn sleeps(&self, by: Duration) {
        self.hand.advance(by);
    }
}

fn record(owner: &str, token: u64) -> Record {
    let token = FencingToken::new(token).unwrap();
    Record::new(Uuid::new_v4(), owner, UNIX_EPOCH, token, 10 * POLL)
}

#[test]
fn holder_that_comes_again_has_passed_it_over() {
    let mut waiter = Waiter::new();
    assert!(!waiter.sees("a", 1));
    waiter.sleeps(3 * POLL);
    assert!(!waiter.sees("b", 2));
    waiter.sleeps(3 * POLL);
    assert!(waiter.sees("a", 3));
}

#[test]
fn lock_that_goes_from_hand_to_hand_for_a_poll_passes_it_over() {
    let mut waiter = Waiter::new();
    for (token, owner) in (1..).zip(["a", "b", "c"]) {
        assert_eq!(waiter.sees(owner, token), owner == "c");
        waiter.sleeps(POLL / 2);
    }
}

#[test]
fn holders_that_take_turns_and_stay_pass_nobody_over() {
    let mut waiter = Waiter::new();
    for (token, owner) in (1..).zip(["a", "b", "c", "d"]) {
        assert!(!waiter.sees(owner, token));
        waiter.sleeps(3 * POLL);
        assert!(!waiter.sees(owner, token));
    }
}

/// A closing and a revocation change the uuid of a term.
#[test]
fn term_with_another_uuid_is_the_same_term() {
    let mut waiter = Waiter::new();
    for _ in 0..10 {
        assert!(!waiter.sees("a", 1));
        waiter.sleeps(POLL);
    }
}

#[test]
fn lock_that_is_kept_is_not_asked_for_in_a_hurry() {
    let mut waiter = Waiter::new();
    waiter.sees("a", 1);
    waiter.sleeps(2 * POLL);
    assert!(waiter.seen.is_brisk(POLL, &waiter.clock));
    waiter.sleeps(POLL);
    assert!(!waiter.seen.is_brisk(POLL, &waiter.clock));
}

#[test]
fn so_many_holders_are_told_apart_and_no_more() {
    let mut waiter = Waiter::new();
    let mut sees = |owner: u64, token| {
        waiter.sleeps(3 * POLL);
        waiter.sees(&format!("owner {owner}"), token)
    };
    let most = OWNERS_KEPT as u64;
    for owner in 1..=most + 1 {
        assert!(!sees(owner, owner));
    }
    assert!(!sees(most + 1, most + 2), "one too many");
    assert!(sees(most, most + 3));
}

/// Sees one holder, another, and the first again, each for longer than two polls, as these are changed. Whether
/// the waiter makes a reservation.
fn reserves(reservations: bool, change: impl Fn(&mut Holder)) -> bool {
    let (clock, hand) = Clock::manual();
    let mut lock = Scripted::new().lock(clock);
    lock = DLock(Arc::new(Settings {
        plan: Arc::new(Plan {
            reservations,
            ..Plan::clone(&lock.0.plan)
        }),
        ..Settings::clone(&lock.0)
    }));
    let mut waiter = contender(&lock, Wait::Limit(None));
    for (number, owner) in [(1, "a"), (2, "b"), (3, "a")] {
        let mut holder = holder(number, owner);
        change(&mut holder);
        assert!(waiter.reservation.is_none());
        waiter.reserve_if_passed_over(&holder);
        hand.advance(3 * lock.0.plan.poll_every);
    }
    waiter.reservation.is_some()
}

/// F8.
#[tokio::test]
async fn waiter_that_is_passed_over_by_another_client_reserves() {
    assert!(reserves(true, |_| {}));
    assert!(!reserves(false, |_| {}), "the lock has none");
    assert!(!reserves(true, |holder| holder.ours = true));
    let closed = |holder: &mut Holder| {
        holder.record.uuid = Closing::drawn(holder.record.uuid, LEASE).uuid();
    };
    assert!(!reserves(true, closed), "nobody keeps it");
}

/// One that its task says is so.
fn reservation(whose: u8) -> Reservation {
    let status = Arc::<Status>::default();
    status.whose.store(whose, Ordering::Relaxed);
    Reservation {
        task: tokio::spawn(pending()),
        status,
    }
}

#[tokio::test]
async fn reservation_is_whose_its_task_says_as_long_as_that_runs() {
    let is = |reservation: &Reservation| (reservation.is_ours(), reservation.is_anothers());
    for (whose, says) in [
        (NOBODYS, (false, false)),
        (OURS, (true, false)),
        (ANOTHERS, (false, true)),
    ] {
        let mut reservation = reservation(whose);
        assert_eq!(is(&reservation), says);
        reservation.task.abort();
        drop((&mut reservation.task).await);
        assert_eq!(is(&reservation), (false, false));
    }
}

/// F9: a lock that one term keeps is not asked for.
#[tokio::test]
async fn reservation_hears_of_every_other_term_once() {
    let lock = Scripted::new().lock(Clock::manual().0);
    let mut waiter = contender(&lock, Wait::Limit(None));
    waiter.reservation = Some(reservation(OURS));
    let mut hears_of = |number| {
        waiter.reserve_if_passed_over(&holder(number, "another"));
        let status = &waiter.reservation.as_ref().unwrap().status;
        poll_once(pin!(status.another_term.notified())).is_some()
    };
    assert_eq!(
        [1, 1, 2, 2, 2, 3].map(&mut hears_of),
        [true, false, true, false, false, true]
    );
}

/// The places in line for a lock, and its first place.
fn places(lock: &DLock) -> (Places, Arc<Settings>) {
    let [first, second] = ["first", "second"].map(|name| lock.named(name).unwrap().0);
    let places = Places {
        first: Arc::clone(&first),
        second,
        status: Arc::default(),
        another_term: lock.0.store.clock.contender_now(),
    };
    (places, first)
}

#[tokio::test(start_paused = true)]
async fn place_is_asked_for_again_after_no_answer() {
    let provider = Scripted::new();
    let lock = provider.lock(Clock::tokio(1.0));
    let (mut places, place) = places(&lock);
    let status = Arc::clone(&places.status);
    provider.silent(true);
    let taken = tokio::spawn(async move { places.take(&place, POLL).await.is_some() });
    // Until the first try is given up.
    sleep(LEASE / 2).await;
    assert!(!taken.is_finished());
    provider.silent(false);
    status.another_term.notify_one();
    assert!(timeout(LEASE, taken).await.unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn place_is_given_up_after_a_fatal_answer() {
    let provider = Scripted::new();
    provider.acquire(Err(ProviderError::fatal("no table")));
    let (mut places, place) = places(&provider.lock(Clock::tokio(1.0)));
    let taken = timeout(LEASE, places.take(&place, POLL)).await;
    assert!(taken.unwrap().is_none());
    assert_eq!(provider.acquired().len(), 1);
}

/// W2: jitter only delays.
#[tokio::test(start_paused = true)]
async fn two_tries_for_a_place_are_a_pause_apart_at_least() {
    const TRIES: u32 = 10;
    let provider = Scripted::new();
    for _ in 0..TRIES {
        let another = crate::tests::scripted::record(7, "another");
        provider.acquire(Ok(AcquireOutcome::Held(another)));
    }
    let (mut places, place) = places(&provider.lock(Clock::tokio(1.0)));
    let began = Instant::now();
    assert!(places.take(&place, POLL).await.is_some());
    let (took, least) = (began.elapsed(), TRIES * POLL);
    assert!(took >= least && took < 2 * least, "{took:?}");
}

/// F9.
#[tokio::test]
async fn place_is_looked_at_if_that_costs_less_and_may_tell_something() {
    let looks = async |cheap: bool, change: fn(&Settings, &ManualClock)| {
        let observer = Capabilities::new("scripted", Discipline::Observer);
        let provider = Scripted::with(observer.cheap_reads(cheap));
        let (clock, hand) = Clock::manual();
        let lock = provider.lock(clock);
        provider.show(lock.name(), crate::tests::scripted::record(7, "another"));
        change(&lock.0, &hand);
        let taken = is_taken(&lock.0).await.unwrap();
        (provider.reads(lock.name()), taken)
    };
    assert_eq!(looks(true, |_, _| {}).await, (1, true));
    assert_eq!(looks(false, |_, _| {}).await, (0, false));
    let seen_for_long = looks(true, |place, hand| {
        let Settings { store, state, .. } = place;
        state.saw(&store.clock, &crate::tests::scripted::record(7, "another"));
        hand.advance(LEASE);
    });
    assert_eq!(seen_for_long.await, (0, false), "it can be claimed");
    let in_outage = looks(true, |place, _| begin_outage(place));
    assert_eq!(in_outage.await, (0, false));
}
