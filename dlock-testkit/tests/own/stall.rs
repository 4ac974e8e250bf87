//! A case is repeated where a stall of the machine explains its failure, and nowhere else.

use std::{
    future::ready,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use dlock_testkit::{runner::paused_runtime, stall};

use crate::suite::complains;

const LEASE: Duration = Duration::from_secs(1);

/// How often a case is played that always fails so, while the machine stalls for so long.
fn played(stall: Duration, words: &'static str) -> usize {
    let rounds = AtomicUsize::new(0);
    complains(words, || {
        paused_runtime().block_on(stall::rounds(
            (0..3).map(|doubled| LEASE * (1 << doubled)),
            || ready(()),
            |_, _, lag| {
                rounds.fetch_add(1, Ordering::Relaxed);
                lag.note(stall);
                async { panic!("{words}") }
            },
        ));
    });
    rounds.into_inner()
}

#[test]
fn failure_on_a_machine_that_stalled_is_repeated_with_longer_leases() {
    assert_eq!(played(LEASE, "it took too long (I15)"), 3);
    assert_eq!(played(LEASE / 30, "it took too long (I15)"), 2);
}

#[test]
fn failure_that_no_stall_explains_is_not_repeated() {
    assert_eq!(played(Duration::ZERO, "it took too long (I15)"), 1);
}

#[test]
fn two_holders_and_tokens_that_do_not_grow_are_never_repeated() {
    for words in ["two holders (I1)", "tokens grow (I3): 7, 7"] {
        assert_eq!(played(LEASE, words), 1, "{words}");
    }
}
