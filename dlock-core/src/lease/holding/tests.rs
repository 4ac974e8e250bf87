use super::*;
use crate::{Clock, lease::term::tests::term};

/// H1.
#[tokio::test]
async fn term_that_the_store_has_ended_is_offered_to_no_waiter() {
    let held = term(Clock::manual().0);
    let version = held.version();
    let release = begin_release(&held).unwrap();
    assert_eq!(release.claim, Some(version));
    let refused = term(Clock::manual().0);
    refused.refused(None);
    assert!(begin_release(&refused).unwrap().claim.is_none());
}

/// G4. Nothing is sent either.
#[tokio::test]
async fn dropped_lease_that_the_store_has_ended_is_no_longer_its_clients() {
    let held = term(Clock::manual().0);
    held.state.granted(held.uuid, held.token);
    held.refused(None);
    assert!(held.state.is_live(held.uuid));
    drop(Holding::new(Arc::clone(&held)));
    assert!(!held.state.is_live(held.uuid));
}
