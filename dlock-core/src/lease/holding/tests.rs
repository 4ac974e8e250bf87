use super::*;
use crate::{Clock, lease::term::tests::term};

/// In addition nothing is sent.
#[tokio::test]
async fn dropped_lease_that_the_store_has_ended_is_no_longer_its_clients() {
    let held = term(Clock::manual().0);
    held.state.granted(held.uuid, held.token);
    held.refused(None);
    assert!(held.state.is_live(held.uuid));
    drop(Holding::new(Arc::clone(&held)));
    assert!(!held.state.is_live(held.uuid));
}
