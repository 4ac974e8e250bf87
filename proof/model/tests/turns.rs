//! A waiter of another process gets in although one client's own line never ends, and waits without bound if one of the
//! rules for that is missing.

use dlock_model::turns::{Trap, Turns};
use stateright::{Checker, Model};

/// Whether a search through everything finds a waiter that waits for longer.
fn waits_for_longer(turns: Turns) -> bool {
    let checker = turns.checker().spawn_bfs().join();
    println!("{turns:?}: {} states", checker.unique_state_count());
    !checker.discoveries().is_empty()
}

fn configurations() -> impl Iterator<Item = Turns> {
    let times = [1, 2, 5].into_iter().flat_map(|turn| {
        // One shorter than two polls, and one longer.
        [1, 3, 20]
            .into_iter()
            .flat_map(move |work| [1, 2].map(|quarter| (turn, work, quarter)))
    });
    times.map(|(turn, work, quarter)| Turns {
        turn,
        work,
        quarter,
        leaves: [2, 5],
        trap: None,
    })
}

#[test]
fn a_waiter_of_another_process_gets_in_within_the_bound() {
    for turns in configurations() {
        assert!(!waits_for_longer(turns), "{turns:?}");
    }
}

#[test]
fn it_waits_without_bound_where_the_line_does_not_leave_the_name() {
    let traps = [
        Trap::OwnLineAsksAtOnce,
        Trap::EndedTermClaimed,
        Trap::TurnWithoutEnd,
        Trap::NeverMarks,
    ];
    for turns in configurations() {
        for trap in traps {
            let turns = Turns {
                trap: Some(trap),
                ..turns
            };
            assert!(waits_for_longer(turns), "{turns:?}");
        }
    }
}

/// A pause that ends before the waiter's next try is sure to have arrived does not help it: a quarter of a poll after
/// short terms, a poll after long ones.
#[test]
fn it_waits_without_bound_where_the_pause_is_no_longer_than_its_next_try() {
    for turns in configurations() {
        let short = Turns {
            leaves: [1, 5],
            ..turns
        };
        assert!(waits_for_longer(short), "{short:?}");
        let long = Turns {
            leaves: [2, 4],
            ..turns
        };
        assert_eq!(waits_for_longer(long), turns.work == 20, "{long:?}");
    }
}
