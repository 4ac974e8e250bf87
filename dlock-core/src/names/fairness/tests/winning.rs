//! What a client learns of the others from its own wins.

use super::*;

/// A client that knows seven others wins so many times in a row: by tries that had yielded a slot or none, after
/// a term of another went by or none, as the last one to have had the lock or not. How many others it still knows.
fn others_after(wins: u32, yielded: bool, passed: bool, last: bool) -> usize {
    let (mut fairness, clock, _hand) = releaser(7);
    fairness.hinted();
    for _ in 0..wins {
        let entered = fairness.enter();
        if passed {
            fairness.hinted();
        }
        if !last {
            fairness.followed();
        }
        fairness.won(entered, yielded.into(), &clock);
    }
    assert!(fairness.contended || fairness.others.is_empty());
    fairness.others.len()
}

/// F5.
#[test]
fn others_are_forgotten_after_a_few_slots_that_none_of_them_used() {
    for yielded in [false, true] {
        for passed in [false, true] {
            for last in [false, true] {
                let in_vain = yielded && !passed && last;
                let left = if in_vain { 0 } else { 7 };
                let after = |wins| others_after(wins, yielded, passed, last);
                assert_eq!(
                    [after(1), after(MOST_IDLE_YIELDS)],
                    [7, left],
                    "yielded: {yielded}, passed: {passed}, last: {last}"
                );
            }
        }
    }
}

/// F3: whether a client that has seen one other lets one more go first, after wins by tries that had yielded so
/// many slots and let so many terms go by.
fn probes(yielded: Slots, passed: u64) -> bool {
    let (mut fairness, clock, _hand) = releaser(1);
    fairness.hinted();
    for _ in 0..FIRST_PROBE {
        let entered = fairness.enter();
        for _ in 0..passed {
            fairness.hinted();
        }
        fairness.refused(Some("other 0"));
        fairness.won(entered, yielded, &clock);
    }
    fairness.rank() == 2
}

#[test]
fn client_probes_for_a_rival_unless_a_slot_was_left_in_vain() {
    assert!(probes(0, 0));
    assert!(probes(0, 2));
    assert!(!probes(1, 0), "the one that it knows had not waited longer");
    assert!(probes(1, 1), "it came during the delay");
    assert!(probes(1, 2));
}
