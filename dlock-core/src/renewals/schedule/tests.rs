//! The renewals that are due at each instant, on a clock that moves by hand. Only the test runs the schedule.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Waker},
};

use super::*;
use crate::{
    renewals::{
        send_queue::BATCH,
        tests::{INSTANT, LEASE, SECOND, Scene, entry, is_let_go},
    },
    time::{Plan, plan_of},
};

/// From the grant to the first renewal.
const DUE: Duration = Duration::from_secs(20);

/// From the grant to the end of the lease.
const VALID: Duration = Duration::from_secs(48);

/// A schedule that renews these terms.
fn schedule(scene: &Scene, terms: &[Arc<Term>]) -> Schedule {
    let schedule = Schedule::new(&scene.store);
    for term in terms {
        assert!(schedule.join(entry(term)).is_none());
    }
    schedule
}

impl Schedule {
    /// Whether the scheduler would be woken now.
    fn rings(&self) -> bool {
        let rung = pin!(self.ring.notified());
        rung.poll(&mut Context::from_waker(Waker::noop()))
            .is_ready()
    }
}

impl Step {
    fn sleeps_until(&self) -> Option<HolderInstant> {
        match self.next {
            Next::Sleep(until, _) => Some(until),
            Next::Again | Next::Ring | Next::End => None,
        }
    }

    /// The terms that are sent, in the order of their calls.
    fn sent(&self) -> Vec<Arc<Term>> {
        let items = self.calls.iter().flat_map(|call| &call.items);
        items.map(|entry| Arc::clone(&entry.term)).collect()
    }
}

#[tokio::test]
async fn scheduler_is_woken_for_what_it_would_oversleep_and_for_nothing_else() {
    let scene = Scene::new(true);
    let schedule = schedule(&scene, &[scene.term("first")]);
    assert!(schedule.rings(), "it sleeps for ever");
    let joins = |name: &str, plan: Plan| {
        let term = scene.term_with(name, plan);
        assert!(schedule.join(entry(&term)).is_none());
        schedule.rings()
    };
    assert!(schedule.step().sleeps_until().is_some());
    assert!(!joins("due at that time", plan_of(LEASE)));
    assert!(joins("due earlier", plan_of(LEASE / 2)));
    scene.hand.advance(SECOND);
    assert!(!joins("due later", plan_of(LEASE)));
    // The machine was suspended, and the scheduler's timer has not counted that.
    scene.hand.advance(DUE);
    assert!(joins("due much later", plan_of(LEASE)));
}

/// A suspend makes the scheduler's timer late by up to a step, and no step may be longer than the shortest lease
/// allows.
#[tokio::test]
async fn scheduler_is_woken_for_a_lease_that_needs_shorter_steps() {
    let scene = Scene::new(true);
    let schedule = schedule(&scene, &[scene.term_with("long", plan_of(LEASE / 6))]);
    assert!(schedule.rings() && schedule.step().sleeps_until().is_some());
    scene.hand.advance(DUE / 6 * 3 / 4);
    // Due at 4.2 s, after the wake-up at 3.3 s.
    let joins = |name| {
        let term = scene.term_with(name, plan_of(LEASE / 12));
        assert!(schedule.join(entry(&term)).is_none());
        schedule.rings()
    };
    assert!(joins("short"));
    assert!(matches!(schedule.step().next, Next::Sleep(_, step) if step == LEASE / 120));
    assert!(!joins("another"));
}

/// One request may be granted several names, as a claim of tasks is: their terms have its identity, and are due
/// together.
#[tokio::test]
async fn leases_of_one_request_are_all_renewed_and_leave_one_by_one() {
    let scene = Scene::new(true);
    let terms = ["one", "two", "three"].map(|name| scene.term_of(7, name, plan_of(LEASE)));
    let schedule = schedule(&scene, &terms);
    assert!(schedule.remove(&terms[1]).is_some(), "another one left");
    assert!(schedule.remove(&terms[1]).is_none());
    scene.hand.advance(DUE);
    let mut sent: Vec<_> = schedule.step().sent();
    sent.sort_by_key(|term| term.name.to_string());
    let names: Vec<&str> = sent.iter().map(|term| term.name.as_str()).collect();
    assert_eq!(names, ["one", "three"]);
}

#[tokio::test]
async fn lease_renewed_by_hand_meanwhile_is_not_due_any_more() {
    let scene = Scene::new(true);
    let term = scene.term("door");
    let (schedule, start) = (schedule(&scene, &[Arc::clone(&term)]), scene.now());
    scene.hand.advance(SECOND);
    let attempt = term.next_attempt().unwrap();
    assert!(term.renewed(attempt, false));
    scene.hand.advance(DUE - SECOND);
    let step = schedule.step();
    assert!(step.calls.is_empty() && step.done.is_empty());
    assert_eq!(step.sleeps_until(), Some(start + SECOND + DUE));
    scene.hand.advance(SECOND);
    assert_eq!(schedule.step().calls.len(), 1);
}

#[tokio::test]
async fn lease_held_for_the_longest_time_allowed_leaves_the_schedule_then() {
    let scene = Scene::new(true);
    let plan = Plan {
        max_hold: Some(DUE / 2),
        ..plan_of(LEASE)
    };
    let schedule = schedule(&scene, &[scene.term_with("door", plan)]);
    scene.hand.advance(DUE / 2);
    let step = schedule.step();
    assert!(step.calls.is_empty());
    assert_eq!(step.done.len(), 1);
    assert!(matches!(step.next, Next::End));
}

#[tokio::test]
async fn renewal_that_waits_for_its_turn_goes_on_or_ends_with_its_lease() {
    let scene = Scene::new(false);
    // More than the calls that may be in flight.
    let terms = scene.terms(100);
    let (schedule, start) = (schedule(&scene, &terms), scene.now());
    scene.hand.advance(DUE / 2);
    let renewed = terms.last().unwrap();
    let attempt = renewed.next_attempt().unwrap();
    scene.hand.advance(DUE / 2);
    let step = schedule.step();
    let (sent, calls) = (step.sent().len(), step.calls);
    assert!(sent < terms.len() - 1, "{sent}");
    assert!(step.done.is_empty());
    let route = calls[0].route;

    // The answer to a request that was sent before the renewal was due comes only now.
    assert!(renewed.renewed(attempt, false));
    let step = schedule.step();
    assert_eq!(step.sleeps_until(), Some(start + VALID));
    scene.hand.advance(VALID - DUE - INSTANT);
    assert!(schedule.step().done.is_empty());
    scene.hand.advance(INSTANT);
    let step = schedule.step();
    assert!(step.calls.is_empty());
    assert_eq!(step.done.len(), terms.len() - sent - 1);
    schedule.make_room(route, Kind::Due);
    let step = schedule.step();
    assert!(step.done.is_empty());
    assert_eq!(step.sent().len(), 1);
    assert!(Arc::ptr_eq(&step.sent()[0], renewed));
}

#[tokio::test]
async fn crowd_is_spread_but_no_renewal_is_held_back_for_long() {
    let scene = Scene::new(true);
    let terms = scene.terms(3 * BATCH);
    let (schedule, start) = (schedule(&scene, &terms), scene.now());
    scene.hand.advance(DUE);
    let step = schedule.step();
    assert_eq!(step.sent().len(), 2 * BATCH);
    // D/30.
    let latest = start + DUE + 2 * SECOND;
    assert_eq!(step.sleeps_until(), Some(latest));
    scene.hand.advance(2 * SECOND);
    assert_eq!(schedule.step().sent().len(), BATCH);
}

#[tokio::test]
async fn crowd_is_collected_at_once_a_few_thousand_in_a_step() {
    let scene = Scene::new(true);
    let terms = scene.terms(MOST_PER_STEP + BATCH);
    let (schedule, start) = (schedule(&scene, &terms), scene.now());
    scene.hand.advance(DUE);
    assert!(matches!(schedule.step().next, Next::Again));
    let sleeps_until = schedule.step().sleeps_until();
    assert!(schedule.contents().waiting.is_empty());
    assert!(sleeps_until.is_some_and(|until| until > start + DUE + SECOND));
    // As many as may be in flight had to be sent by now: only the end of a call makes room.
    scene.hand.advance(2 * SECOND);
    let step = schedule.step();
    assert!(!step.calls.is_empty());
    assert_eq!(step.sleeps_until(), Some(start + VALID));
}

#[tokio::test]
async fn term_whose_lease_has_ended_during_the_call_leaves_the_schedule() {
    let scene = Scene::new(true);
    let term = scene.term("door");
    let schedule = schedule(&scene, &[Arc::clone(&term)]);
    scene.hand.advance(DUE);
    let PlannedCall { route, items, .. } = schedule.step().calls.remove(0);
    scene.hand.advance(VALID - DUE);
    let at = scene.now() + SECOND;
    let again = |entry| Outcome::Again(at, entry);
    let outcomes = items.into_iter().map(again).collect();
    let (silent, done) = schedule.settle(route, Some(false), outcomes);
    assert!(silent);
    assert_eq!(done.len(), 1);
    assert!(matches!(schedule.step().next, Next::End));
}

#[tokio::test]
async fn term_whose_runtime_has_ended_during_the_call_leaves_the_schedule() {
    let scene = Scene::new(true);
    let term = scene.term("door");
    let schedule = schedule(&scene, &[Arc::clone(&term)]);
    scene.hand.advance(DUE);
    let PlannedCall { route, items, .. } = schedule.step().calls.remove(0);
    drop(schedule.end());
    let at = scene.now() + SECOND;
    let again = |entry| Outcome::Again(at, entry);
    let outcomes = items.into_iter().map(again).collect();
    let (_, done) = schedule.settle(route, Some(false), outcomes);
    assert_eq!(done.len(), 1);
    drop(done);
    assert!(is_let_go(&term));
}
