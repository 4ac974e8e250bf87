//! A store that can only read, and write what is unchanged, cannot be distinguished from one that does both in one
//! step; and every way to get that wrong is noticed.

use dlock_model::cas::{Cas, Trap};
use stateright::{Checker, HasDiscoveries, Model};

/// The properties that are violated first, on a shortest path: one, or several at once.
fn violated(config: Cas) -> Vec<&'static str> {
    let checker = config
        .checker()
        .finish_when(HasDiscoveries::Any)
        .spawn_bfs()
        .join();
    println!(
        "{:?}: {} states, longest path {}",
        config,
        checker.unique_state_count(),
        checker.max_depth()
    );
    checker.discoveries().into_keys().collect()
}

const SMALL: Cas = Cas {
    calls: 3,
    copies: 1,
    rounds: 2,
    trap: None,
};

#[test]
fn nobody_can_tell_looks_and_conditional_writes_from_one_step() {
    assert!(violated(SMALL).is_empty());
}

#[test]
#[ignore = "half a minute: .ci/run"]
fn nobody_can_tell_with_more_copies_and_rounds() {
    for config in [Cas { copies: 2, ..SMALL }, Cas { rounds: 3, ..SMALL }] {
        assert!(violated(config).is_empty());
    }
}

#[test]
fn each_way_to_get_it_wrong_is_noticed() {
    for &(trap, property) in Trap::ALL {
        let config = Cas {
            trap: Some(trap),
            ..SMALL
        };
        let (violated, expected) = (violated(config), format!("{property:?}"));
        assert!(violated.contains(&&*expected), "{trap:?}: {violated:?}");
    }
}
