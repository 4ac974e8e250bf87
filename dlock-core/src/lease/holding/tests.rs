use super::*;
use crate::{Clock, lease::term::tests::term, names::Offered};

/// H1.
#[tokio::test]
async fn term_that_the_store_has_ended_is_offered_to_no_waiter() {
    let held = term(Clock::manual().0);
    let version = held.version();
    let release = begin_release(&held).unwrap();
    assert!(matches!(release.offered, Some(Offered::Claim(claim)) if claim == version));
    let refused = term(Clock::manual().0);
    refused.refused(None);
    assert!(begin_release(&refused).unwrap().offered.is_none());
}
