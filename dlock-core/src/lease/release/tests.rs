//! Releases of a scripted store: the requests that are sent, the meaning of an answer, and the log.

use tokio::{
    runtime::Builder,
    time::{Instant, sleep},
};

use super::*;
use crate::{
    Clock, DLock,
    lease::Settings,
    lease::term::tests::term,
    provider::Version,
    tests::scripted::{INSTANT, LEASE, Scripted, record, silence, token, uuid},
    tests::traced,
    turns::HAND_OFF,
};

type Answer = Result<ReleaseOutcome, ProviderError>;

const RELEASED: Answer = Ok(ReleaseOutcome::Released { wanted: false });
const NOT_HELD: Answer = Ok(ReleaseOutcome::NotHeld(None));

/// The release of a lease of this lock that was valid to its end.
fn release(lock: &DLock) -> PendingRelease {
    let Settings {
        store,
        state,
        name,
        plan,
        ..
    } = &*lock.0;
    PendingRelease {
        store: Arc::clone(store),
        state: Arc::clone(state),
        name: name.clone(),
        plan: Arc::clone(plan),
        uuid: uuid(1),
        token: Some(token(1)),
        sent: store.clock.now(),
        closes_until: None,
        origin: Origin::Lease { protected: true },
        answered: true,
        runtime: Handle::current().id(),
    }
}

/// Its caller may be on another runtime, and waits for no longer than the bound.
#[tokio::test(start_paused = true)]
async fn release_that_nobody_answers_ends_within_its_bound() {
    let term = term(Clock::tokio(1.0));
    term.begin_release();
    let release = PendingRelease::of(&term, None);
    let (bound, began) = (PendingRelease::bound(&term), Instant::now());
    let ended = release.spawn(&term.home).await.unwrap().unwrap();
    assert!(matches!(ended, ReleaseEnd::Unconfirmed), "{ended:?}");
    let took = began.elapsed();
    assert!(took > LEASE / 2, "it is repeated, and took {took:?}");
    assert!(
        took <= bound,
        "it took {took:?}, and the bound is {bound:?}"
    );
    assert!(bound < 2 * LEASE, "{bound:?}");
}

/// Even if the lease has run out meanwhile.
#[tokio::test]
async fn bound_of_a_release_counts_an_attempt() {
    let (clock, hand) = Clock::manual();
    let term = term(clock);
    hand.advance(LEASE);
    let least = term.plan.attempt();
    assert!(PendingRelease::bound(&term) >= least);
}

/// Its try may have been applied, and others would wait for the expiry.
#[tokio::test(start_paused = true)]
async fn release_of_a_try_is_sent_once_however_long_the_outage() {
    let provider = Scripted::new();
    let lock = provider.lock(Clock::tokio(1.0));
    let mut release = release(&lock);
    release.origin = Origin::Try;
    let Settings { store, plan, .. } = &*lock.0;
    sleep(LEASE).await;
    while !store.outage.is_on() {
        store.outage.heard(&Err::<(), _>(silence()));
    }
    // The next turn comes later than the release can wait.
    store.outage.admit(plan, LEASE).await.unwrap();
    let ended = release.send().await.unwrap();
    assert!(matches!(ended, ReleaseEnd::Released), "{ended:?}");
    assert_eq!(provider.released().len(), 1);
}

/// Whether a name is forgotten among many after a release with these answers. `answered`: whether every attempt of
/// the try was answered.
async fn is_forgotten(answered: bool, answers: Vec<Answer>) -> bool {
    let provider = Scripted::new();
    for answer in answers {
        provider.release(answer);
    }
    let lock = provider.lock(Clock::tokio(1.0));
    let store = Arc::clone(&lock.0.store);
    let state = Arc::downgrade(&lock.0.state);
    let mut release = release(&lock);
    release.answered = answered;
    lock.0.state.retire(&store.clock, release.uuid, LEASE);
    release.send().await.unwrap();
    drop((release, lock));
    for number in 0..2000 {
        let other = Name::new(format!("gate {number}")).unwrap();
        store.names.get(&other, &store.clock);
    }
    state.strong_count() == 0
}

/// A name is remembered as long as a copy of a request may be in flight.
#[tokio::test(start_paused = true)]
async fn name_is_remembered_unless_everything_was_answered() {
    assert!(is_forgotten(true, vec![RELEASED]).await);
    assert!(!is_forgotten(false, vec![RELEASED]).await, "the try");
    let repeated = vec![Err(silence()), RELEASED];
    assert!(!is_forgotten(true, repeated).await, "the first attempt");
    assert!(!is_forgotten(true, vec![NOT_HELD]).await, "another's");
}

/// How many releases of others a hint after this release counts as, and how long the name is left to them.
async fn after_a_release(hears: bool, closes: bool, answer: Answer) -> (u64, Duration) {
    let provider = Scripted::with_marks();
    provider.release(answer);
    let lock = provider.lock(Clock::manual().0);
    let Settings { store, state, .. } = &*lock.0;
    store.channel_open.store(hears, Ordering::SeqCst);
    let until = store.clock.now() + LEASE;
    let mut release = release(&lock);
    release.closes_until = closes.then_some(until);
    let here = release.runtime;
    let arrival = state.turns().of(here).arrive();
    release.send().await.unwrap();
    let left = state.turns().of(here).left_for(&store.clock);
    state.turns().hinted();
    (state.turns().of(here).passed(arrival), left)
}

/// Only a marked term is hinted (N3), and left to others.
#[tokio::test]
async fn release_leaves_a_wanted_name_to_others_and_expects_its_own_hint() {
    const WANTED: Answer = Ok(ReleaseOutcome::Released { wanted: true });
    let none = Duration::ZERO;
    assert_eq!(after_a_release(true, false, WANTED).await, (0, HAND_OFF));
    assert_eq!(after_a_release(true, false, RELEASED).await, (1, none));
    assert_eq!(after_a_release(true, false, NOT_HELD).await, (1, none));
    assert_eq!(after_a_release(true, true, RELEASED).await, (1, none));
    let unheard = after_a_release(false, false, WANTED).await;
    assert_eq!(unheard, (1, none), "it had the name for no time");
}

/// Also where nothing was known of others before.
#[tokio::test]
async fn first_wanted_release_expects_its_own_hint_unless_that_came_before_the_answer() {
    for (before, after, heard) in [(0, 1, 0), (1, 0, 0), (1, 1, 1)] {
        let provider = Scripted::with_marks();
        provider.release(Ok(ReleaseOutcome::Released { wanted: true }));
        let lock = provider.lock(Clock::manual().0);
        let Settings {
            store, state, name, ..
        } = &*lock.0;
        store.channel_open.store(true, Ordering::SeqCst);
        let release = release(&lock);
        if before == 0 {
            release.send().await.unwrap();
        } else {
            let unheard = Some(state.hints());
            store.names.wake(name);
            release.leave_to_others(true, unheard);
        }
        let here = release.runtime;
        let arrival = state.turns().of(here).arrive();
        (0..after).for_each(|_| store.names.wake(name));
        let mut turns = state.turns();
        assert_eq!(turns.of(here).passed(arrival), heard, "{before} {after}");
        let is_left = !turns.of(here).left_for(&store.clock).is_zero();
        assert_eq!(is_left, heard == 0, "{before} {after}");
    }
}

/// The end of a release that found, instead of its own term, that of a try of this client which had claimed it.
async fn overtaken(origin: Origin, closes_for: Option<Duration>) -> ReleaseEnd {
    let provider = Scripted::new();
    let ours = record(2, "we");
    provider.release(Ok(ReleaseOutcome::NotHeld(Some(ours.clone()))));
    let lock = provider.lock(Clock::manual().0);
    let Settings { store, state, .. } = &*lock.0;
    let now = store.clock.now();
    let mut release = release(&lock);
    release.origin = origin;
    release.closes_until = closes_for.map(|left| now + left);
    state.retire(&store.clock, release.uuid, LEASE);
    let claimed = Version {
        uuid: release.uuid,
        renewals: 0,
    };
    state.claims(claimed, ours.uuid);
    release.send().await.unwrap()
}

/// The answer is `NotHeld` (L3), and the record shows the term of our own try.
#[tokio::test]
async fn term_that_went_to_our_own_try_was_given_back() {
    for origin in [
        Origin::Lease { protected: true },
        Origin::Lease { protected: false },
        Origin::Grant,
        Origin::Try,
    ] {
        let ended = overtaken(origin, None).await;
        assert!(
            matches!(ended, ReleaseEnd::Released),
            "{origin:?}: {ended:?}"
        );
    }
}

/// B4: until the instant at which the name would have been open, no other holder should have been there.
#[tokio::test]
async fn name_that_was_not_closed_in_time_was_not_given_back() {
    let origin = Origin::Lease { protected: true };
    let ended = overtaken(origin, Some(INSTANT)).await;
    assert!(matches!(ended, ReleaseEnd::Unconfirmed), "{ended:?}");
    let ended = overtaken(origin, Some(Duration::ZERO)).await;
    assert!(matches!(ended, ReleaseEnd::Released), "{ended:?}");
}

/// The log of a release with this answer.
fn said(answer: Answer) -> Vec<&'static str> {
    let runtime = Builder::new_current_thread().build().unwrap();
    traced::events(|| {
        runtime.block_on(async {
            let provider = Scripted::new();
            provider.release(answer);
            let lock = provider.lock(Clock::manual().0);
            drop(release(&lock).spawn(&Handle::current()).await);
        });
        drop(runtime);
    })
}

#[test]
fn failed_release_is_logged() {
    let fatal = Err(ProviderError::fatal("no table"));
    assert_eq!(said(fatal), ["release_failed"]);
    assert_eq!(said(RELEASED), ["released"]);
}

#[test]
fn release_that_goes_down_with_its_runtime_is_told() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let said = traced::events(|| {
        let _entered = runtime.enter();
        let lock = Scripted::new().lock(Clock::manual().0);
        // No thread drives it.
        drop(release(&lock).spawn(runtime.handle()));
        drop(runtime);
    });
    assert_eq!(said, ["release_cut_off"]);
}

/// A runtime that has shut down drops the release. Its lease is then forgotten in favour of newer ones, like any other,
/// and a waiter need not wait for the answer.
#[tokio::test]
async fn release_that_is_dropped_has_ended() {
    let provider = Scripted::new();
    let lock = provider.lock(Clock::manual().0);
    let Settings { store, state, .. } = &*lock.0;
    let retire = |number| state.retire(&store.clock, uuid(number), LEASE);
    state.granted(uuid(1), token(1));
    (1..=9).for_each(retire);
    assert!(state.is_retired(&store.clock, uuid(1)));
    let waiter = state.register();
    let mut freed = std::pin::pin!(waiter.queue().freed.notified());
    freed.as_mut().enable();
    drop(release(&lock));
    assert!(freed.as_mut().enable(), "it wakes a waiter");
    retire(10);
    assert!(!state.is_retired(&store.clock, uuid(1)));
}
