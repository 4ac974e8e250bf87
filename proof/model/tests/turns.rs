//! A waiter of another process gets in although one client's own line never ends, and waits without bound where a
//! rule of that is left out.

use dlock_model::turns::{Trap, Turns};
use stateright::{Checker, Model};

/// Whether a search through everything finds somebody who waits for longer.
fn waits_for_longer(turns: Turns) -> bool {
    let checker = turns.checker().spawn_bfs().join();
    println!("{turns:?}: {} states", checker.unique_state_count());
    !checker.discoveries().is_empty()
}

fn configurations() -> impl Iterator<Item = Turns> {
    let times = [1, 2, 5].into_iter().flat_map(|turn| {
        [1, 3].into_iter().flat_map(move |work| {
            [2, 4]
                .into_iter()
                .flat_map(move |poll| [0, 3, 8].map(|patience| (turn, work, poll, patience)))
        })
    });
    times.map(|(turn, work, poll, patience)| Turns {
        turn,
        work,
        poll,
        patience,
        leave: 2 * poll,
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

/// A pause that ends when the waiter's next try may still be on its way leaves the name to nobody.
#[test]
fn it_waits_without_bound_where_the_pause_is_no_longer_than_its_poll() {
    for turns in configurations() {
        let turns = Turns {
            leave: turns.poll,
            ..turns
        };
        assert!(waits_for_longer(turns), "{turns:?}");
        let turns = Turns {
            leave: turns.poll + 1,
            ..turns
        };
        assert!(!waits_for_longer(turns), "{turns:?}");
    }
}
