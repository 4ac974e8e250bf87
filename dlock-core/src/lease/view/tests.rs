//! A view of a term on a clock that moves by hand.

use std::{
    pin::{Pin, pin},
    task::{Context, Waker},
};

use super::*;
use crate::{
    Clock, ProviderError, lease::term::tests::term, testing::ManualClock, tests::scripted::LEASE,
};

fn watched() -> (LeaseView, ManualClock) {
    let (clock, hand) = Clock::manual();
    (LeaseView::new(term(clock)), hand)
}

/// The store has answered a renewal that was sent just now.
fn renewed(watch: &LeaseView, asked: bool) {
    let attempt = watch.0.next_attempt().unwrap();
    assert!(watch.0.renewed(attempt, asked));
}

fn is_ready(future: Pin<&mut impl Future<Output = ()>>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    future.poll(&mut context).is_ready()
}

#[tokio::test]
async fn watch_follows_its_term_to_the_end() {
    let (watch, hand) = watched();
    assert_eq!(watch.uuid(), watch.0.uuid);
    assert!(!watch.uuid().is_nil());
    let left = LEASE * 4 / 5;
    assert!(watch.is_valid());
    assert_eq!(watch.remaining(), left);
    assert_eq!(watch.since_success(), Duration::ZERO);
    hand.advance(LEASE / 2);
    assert!(watch.is_valid());
    assert_eq!(watch.remaining(), left - LEASE / 2);
    assert_eq!(watch.since_success(), LEASE / 2);
    renewed(&watch, false);
    assert_eq!(watch.remaining(), left);
    assert_eq!(watch.since_success(), Duration::ZERO);
    hand.advance(left);
    assert!(!watch.is_valid());
    assert_eq!(watch.remaining(), Duration::ZERO);
}

/// B3.
#[tokio::test]
async fn request_is_seen_when_a_renewal_has_told_it() {
    let (watch, _hand) = watched();
    let mut until_asked = pin!(watch.until_asked());
    renewed(&watch, false);
    assert!(!watch.asked());
    assert!(!is_ready(until_asked.as_mut()));
    renewed(&watch, true);
    assert!(watch.asked());
    assert!(is_ready(until_asked.as_mut()));
}

#[tokio::test]
async fn term_is_settled_unless_it_is_unsure() {
    let (watch, hand) = watched();
    assert!(is_ready(pin!(watch.settled())));
    watch.0.unanswered(ProviderError::fatal("no table"));
    let mut settled = pin!(watch.settled());
    assert!(!is_ready(settled.as_mut()));
    renewed(&watch, false);
    assert!(is_ready(settled.as_mut()));
    watch.0.unanswered(ProviderError::fatal("no table"));
    let mut settled = pin!(watch.settled());
    assert!(!is_ready(settled.as_mut()));
    hand.advance(LEASE);
    assert!(is_ready(settled.as_mut()), "it has ended");
}
