//! No waiter sleeps next to a free name although releases of unmarked terms send no hint, and one does if one of the
//! rules for that is broken.

use dlock_model::wake::{Trap, Wake};
use stateright::{Checker, Model};

/// Whether a search through everything finds a waiter that sleeps next to a free name.
fn misses_a_waiter(wake: Wake) -> bool {
    let checker = wake.checker().spawn_bfs().join();
    println!("{wake:?}: {} states", checker.unique_state_count());
    !checker.discoveries().is_empty()
}

fn wake(breaks: u8, claims: u8, forces: u8, skips: bool) -> Wake {
    Wake {
        breaks,
        claims,
        forces,
        skips,
        trap: None,
    }
}

#[test]
fn no_waiter_sleeps_beside_a_free_name() {
    let configurations = [
        wake(0, 0, 0, false),
        wake(2, 0, 0, false),
        wake(0, 2, 0, false),
        wake(0, 0, 1, false),
        wake(0, 0, 0, true),
        wake(1, 1, 1, true),
    ];
    for wake in configurations {
        assert!(!misses_a_waiter(wake), "{wake:?}");
    }
}

#[test]
fn a_waiter_sleeps_beside_a_free_name_where_a_rule_is_broken() {
    let traps = [
        (Trap::UnmarkedSleeps, wake(0, 0, 0, true)),
        (Trap::MissedMarkSleeps, wake(0, 0, 0, false)),
        (Trap::HintByEarlierLook, wake(0, 0, 0, false)),
        (Trap::AsksThenListens, wake(0, 0, 0, false)),
        (Trap::SilentReconnect, wake(1, 0, 0, false)),
        (Trap::ClaimClearsMark, wake(0, 1, 0, false)),
        (Trap::SilentForce, wake(0, 0, 1, false)),
    ];
    for (trap, mut wake) in traps {
        wake.trap = Some(trap);
        assert!(misses_a_waiter(wake), "{wake:?}");
    }
}
