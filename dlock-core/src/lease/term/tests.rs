//! Cases that no provider and no clock of the conformance suite can bring about.

use std::{future::pending, sync::Arc, time::Duration};

use async_trait::async_trait;

use super::*;
use crate::{
    Client, Clock, Provider, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Release, ReleaseOutcome, Renew,
        RenewOutcome,
    },
};

const LEASE: Duration = Duration::from_secs(60);

/// Not called here.
struct Silent;

#[async_trait]
impl Provider for Silent {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("silent", Discipline::StoreClock)
    }

    async fn acquire(&self, _: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        pending().await
    }

    async fn renew(&self, _: &Renew) -> Result<RenewOutcome, ProviderError> {
        pending().await
    }

    async fn release(&self, _: &Release) -> Result<ReleaseOutcome, ProviderError> {
        pending().await
    }

    async fn read(&self, _: &Name) -> Result<Option<Record>, ProviderError> {
        pending().await
    }
}

/// A lock, and the present.
pub(crate) fn lock(clock: Clock) -> (Arc<Settings>, HolderInstant) {
    let store = Client::with_clock(Silent, clock).0;
    let name = Name::new("door").unwrap();
    let plan = Plan {
        duration: LEASE,
        margin: LEASE / 5,
        renew_every: LEASE / 3,
        poll_every: LEASE,
        poll_watched: LEASE,
        wakeups: true,
        give_up_after: LEASE,
        max_hold: None,
        at_least: None,
        group: None,
        tasks: std::sync::Arc::default(),
    };
    let state = store.names.get(&name, &store.clock);
    let sent = store.clock.now();
    let lock = Arc::new(Settings {
        store,
        state,
        name,
        owner: "we".into(),
        plan: Arc::new(plan),
        data: None,
    });
    (lock, sent)
}

/// A term of one lease, granted now.
pub(crate) fn term(clock: Clock) -> Arc<Term> {
    let (lock, sent) = lock(clock);
    Term::new(
        &lock,
        Uuid::from_u128(1),
        FencingToken::MAX.into(),
        sent,
        true,
    )
}

/// If a renewal read the clock before the deadline, and sets the new deadline only after another caller got the answer
/// "no longer valid", it finds that there is nothing to extend.
#[tokio::test]
async fn lease_that_was_said_to_be_over_is_closed_for_ever() {
    let (clock, hand) = Clock::manual();
    let term = term(clock);
    let attempt = term.next_attempt().unwrap();
    hand.advance(LEASE);
    assert!(!term.is_valid());
    assert_eq!(term.deadline(), HolderInstant::NEVER);
    assert!(!term.renewed(attempt, false));
    assert!(!term.is_valid());
}

/// The error that an end by the clock names.
fn last_error(term: &Term) -> String {
    match term.over().unwrap().cause {
        EndCause::Expired { last_error } => last_error.unwrap().to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn lease_that_ran_out_names_the_last_error_of_its_time() {
    let (clock, hand) = Clock::manual();
    let term = term(clock);
    for message in ["the first", "the second"] {
        term.unanswered(ProviderError::unknown(message));
    }
    hand.advance(LEASE);
    term.unanswered(ProviderError::unknown("cut short by the end"));
    assert_eq!(last_error(&term), "the second");
}

#[tokio::test]
async fn lease_whose_only_renewal_was_cut_short_names_its_error() {
    let (clock, hand) = Clock::manual();
    let term = term(clock);
    hand.advance(LEASE);
    term.unanswered(ProviderError::unknown("cut short by the end"));
    assert_eq!(last_error(&term), "cut short by the end");
}

/// The lease that follows knows what is known of the term, and its hold begins anew.
#[test]
fn belief_of_a_lease_that_follows_is_that_of_the_term() {
    let (clock, hand) = Clock::manual();
    let second = Duration::from_secs(1);
    let sent = clock.now();
    let mut belief = Belief::new(sent, None);
    belief.n = 3;
    belief.confirmed = 2;
    belief.credited = sent + second;
    belief.last_sent = sent + 2 * second;
    belief.fatal = true;
    belief.asked = true;
    belief.in_hand = true;
    belief.last_error = Some(ProviderError::unknown("down"));
    hand.advance(9 * second);
    let next = belief.following(clock.now(), Some(second));
    assert_eq!((next.n, next.confirmed), (3, 2));
    assert_eq!(next.credited, sent + second);
    assert_eq!(next.last_sent, sent + 2 * second);
    assert!(next.fatal && next.asked && next.last_error.is_some());
    assert_eq!(next.granted, sent + 9 * second);
    assert_eq!(next.closes_until, sent + 10 * second);
    assert!(!next.in_hand);
}
