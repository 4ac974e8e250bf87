//! Calls that succeed, fail, hang and are cut off, and what comes after them.

use tokio::{spawn, task::yield_now};

use super::*;
use crate::{
    lease::Term,
    renewals::tests::{INSTANT, LEASE, SECOND, Scene, entry, is_let_go},
    time::plan_of,
};

/// From the grant to the first renewal.
const DUE: Duration = Duration::from_secs(20);

/// Lets everything happen that needs no time.
async fn settle() {
    for _ in 0..50 {
        yield_now().await;
    }
}

/// A schedule for leases of these names, and the call that renews them when they are due, which is now.
fn due(scene: &Scene, names: &[&str]) -> (Arc<Schedule>, PlannedCall) {
    let schedule = Arc::new(Schedule::new(&scene.store));
    for name in names {
        assert!(schedule.join(entry(&scene.term(name))).is_none());
    }
    scene.hand.advance(DUE);
    let mut calls = schedule.step().calls;
    assert_eq!(calls.len(), 1);
    (schedule, calls.remove(0))
}

/// The health of the terms that are sent again.
fn again(scene: &Scene, schedule: &Schedule) -> Vec<Health> {
    scene.hand.advance(SECOND);
    let calls = schedule.step().calls.into_iter();
    calls
        .flat_map(|call| call.items)
        .map(|entry| entry.health)
        .collect()
}

#[tokio::test]
async fn call_that_was_answered_ends_at_once() {
    let scene = Scene::new(true);
    let (schedule, call) = due(&scene, &["one", "other"]);
    let call = spawn(call.of(&schedule).run());
    settle().await;
    assert!(call.is_finished());
    assert_eq!(scene.renewals(), 2);
}

/// The next probe comes after a pause: a crowd must not storm a store that is down.
#[tokio::test]
async fn call_of_a_silent_store_is_in_the_way_for_a_pause() {
    let scene = Scene::new(true);
    let (schedule, call) = due(&scene, &["fails"]);
    let call = spawn(call.of(&schedule).run());
    settle().await;
    assert_eq!(scene.renewals(), 1);
    assert!(!call.is_finished());
    scene.hand.advance(SECOND);
    settle().await;
    assert!(call.is_finished());
}

#[tokio::test]
async fn term_may_travel_in_company_only_after_its_whole_call_has_failed() {
    use Health::{Isolated, Suspect};
    for (names, kind, health) in [
        (&["fails", "fails too"][..], Kind::Due, &[Suspect; 2][..]),
        (&["fails", "fails too"], Kind::Retry, &[Isolated; 2]),
        (&["fails", "succeeds"], Kind::Due, &[Isolated]),
        (&["fails"], Kind::Due, &[Isolated]),
    ] {
        let scene = Scene::new(true);
        let (schedule, call) = due(&scene, names);
        let call = PlannedCall { kind, ..call };
        spawn(call.of(&schedule).run());
        settle().await;
        assert_eq!(scene.renewals(), names.len());
        assert_eq!(again(&scene, &schedule), health, "{names:?}");
    }
}

#[tokio::test]
async fn term_that_has_failed_again_travels_alone() {
    let scene = Scene::new(true);
    for (before, in_company, after) in [
        (Health::Healthy, true, Health::Suspect),
        (Health::Healthy, false, Health::Isolated),
        (Health::Suspect, true, Health::Isolated),
        (Health::Isolated, true, Health::Isolated),
    ] {
        let entry = entry(&scene.term("door")).with(before);
        let Outcome::Again(_, entry) = retry(entry, in_company) else {
            panic!("it is not repeated")
        };
        assert_eq!(entry.health, after);
    }
}

#[tokio::test]
async fn terms_of_a_call_that_was_cut_off_are_renewed_alone() {
    let scene = Scene::new(true);
    let (schedule, call) = due(&scene, &["hangs", "succeeds"]);
    let call = spawn(call.of(&schedule).run());
    settle().await;
    assert_eq!(scene.renewals(), 1);
    call.abort();
    settle().await;
    assert_eq!(again(&scene, &schedule), [Health::Isolated; 2]);
}

/// The store answers no call, and others stand in line for one.
async fn outage(scene: &Scene) {
    while !scene.store.outage.is_on() {
        let failed = Err::<(), _>(ProviderError::unknown("on purpose"));
        scene.store.outage.heard(&failed);
    }
    for _ in 0..20 {
        let (store, plan) = (Arc::clone(&scene.store), plan_of(LEASE));
        spawn(async move { store.outage.admit(&plan, 60 * LEASE).await });
    }
    settle().await;
}

/// A call for a term whose renewals fail, and of which this much is left.
fn last(scene: &Scene, left: Duration) -> (Arc<Term>, Call) {
    let (schedule, PlannedCall { route, items, .. }) = due(scene, &["door"]);
    let term = Arc::clone(&items[0].term);
    scene.hand.advance(term.remaining() - left);
    let call = PlannedCall {
        route,
        kind: Kind::Retry,
        items: items
            .into_iter()
            .map(|entry| entry.with(Health::Isolated))
            .collect(),
    };
    (term, call.of(&schedule))
}

#[tokio::test]
async fn last_attempts_wait_in_line_for_half_of_what_is_left_at_most() {
    let scene = Scene::new(true);
    let (term, call) = last(&scene, 8 * SECOND);
    outage(&scene).await;
    spawn(call.run());
    settle().await;
    scene.hand.advance(4 * SECOND - INSTANT);
    settle().await;
    assert_eq!(scene.renewals(), 0, "it had its turn");
    scene.hand.advance(INSTANT);
    settle().await;
    assert_eq!(scene.renewals(), 1);
    assert!(term.is_valid());
}

#[tokio::test]
async fn lease_that_has_ended_leaves_the_line() {
    let scene = Scene::new(true);
    let (term, call) = last(&scene, 20 * SECOND);
    outage(&scene).await;
    let call = spawn(call.run());
    settle().await;
    assert!(!call.is_finished());
    term.begin_release();
    settle().await;
    assert!(call.is_finished());
    assert_eq!(scene.renewals(), 0);
    assert!(is_let_go(&term));
}
