use super::*;
use crate::{Clock, lease::term::tests::term};

/// H1.
#[tokio::test]
async fn term_that_the_store_has_ended_is_offered_to_no_waiter() {
    let held = term(Clock::manual().0);
    assert_eq!(begin_release(&held).version, Some(held.version()));
    let refused = term(Clock::manual().0);
    refused.refused(None);
    assert_eq!(begin_release(&refused).version, None);
}
