//! The omissions of the search do not matter: on configurations small enough for both, the reduced
//! search finds exactly the normal forms of all states, and the full one finds no violation that the
//! reduced one misses.

use std::collections::HashSet;

use dlock_model::{
    CLIENTS, Config, Discipline, Event, Id, NOBODY, Protocol, REVOKED, Rule, State, search,
};
use stateright::Model;

/// Every reachable state.
fn reachable(protocol: &Protocol) -> HashSet<State> {
    let mut found: HashSet<State> = protocol.init_states().into_iter().collect();
    let mut open: Vec<State> = found.iter().cloned().collect();
    let mut actions = Vec::new();
    while let Some(state) = open.pop() {
        protocol.actions(&state, &mut actions);
        for action in actions.drain(..) {
            if let Some(next) = protocol.next_state(&state, action)
                && !found.contains(&next)
            {
                found.insert(next.clone());
                open.push(next);
            }
        }
    }
    found
}

fn small(discipline: Discipline) -> [Config; 6] {
    let base = Config {
        tries: 1,
        renewals: 0,
        copies: 0,
        crashes: 0,
        drifts: 0,
        dominant: false,
        ..Config::new(discipline)
    };
    [
        Config {
            renewals: 1,
            drifts: 1,
            ..base.clone()
        },
        Config {
            copies: 1,
            crashes: 1,
            ..base.clone()
        },
        Config {
            hand_over: true,
            renewals: 1,
            ..base.clone()
        },
        Config {
            revokes: 1,
            ..base.clone()
        },
        Config {
            blocks: [2; CLIENTS],
            renewals: 1,
            ..base.clone()
        },
        Config {
            blocks: [2; CLIENTS],
            resource: true,
            floors: true,
            ..base
        },
    ]
}

#[ignore = "a look at the search itself, of which each takes seconds; .ci/run plays it"]
#[test]
fn the_reduced_search_finds_exactly_the_normal_forms_of_all_states() {
    for config in [Discipline::StoreClock, Discipline::Observer]
        .into_iter()
        .flat_map(small)
    {
        let reduced = Protocol::new(config.clone());
        let all = Protocol::new(Config {
            reduced: false,
            ..config.clone()
        });
        let all = reachable(&all);
        let normal: HashSet<State> = all.iter().map(|state| reduced.normal_form(state)).collect();
        let found = reachable(&reduced);
        println!(
            "{} states, {} normal forms: {config:?}",
            all.len(),
            found.len()
        );
        assert!(found.len() < all.len());
        assert_eq!(normal.symmetric_difference(&found).count(), 0, "{config:?}");
    }
}

/// A normal form is its own normal form, else states would be counted twice.
#[ignore = "a look at the search itself, of which each takes seconds; .ci/run plays it"]
#[test]
fn normal_forms_are_final() {
    for config in small(Discipline::StoreClock) {
        let protocol = Protocol::new(config);
        for state in reachable(&protocol) {
            assert_eq!(protocol.normal_form(&state), state);
        }
    }
}

/// L2 is the one answer that a reduced search never sees: it changes nothing, and no client waits for it.
#[ignore = "a look at the search itself, of which each takes seconds; .ci/run plays it"]
#[test]
fn what_the_reduction_leaves_out_happens_without_it() {
    let config = Config {
        clients: 1,
        tries: 1,
        renewals: 1,
        dominant: false,
        reduced: false,
        ..Config::new(Discipline::StoreClock)
    };
    let outcome = search(&config, "one client");
    assert!(outcome.violation.is_none());
    assert!(outcome.seen().has(Event::Store(Rule::L2)));
}

/// The states that the store can keep and the beliefs that clients can have at once, regardless of which client.
fn seen_from_outside(config: &Config, state: &State) -> Outside {
    let tries = config.tries;
    let other = |uuid: Id| match uuid {
        NOBODY | REVOKED => uuid,
        _ => (uuid - 1 + tries) % (2 * tries) + 1,
    };
    let seen = |name: &dyn Fn(Id) -> Id| {
        let record = state.record;
        let mut valid: Vec<(Id, u8)> = (1..)
            .zip(&state.terms)
            .filter(|(_, term)| term.valid())
            .map(|(id, term)| (name(id), term.clock))
            .collect();
        valid.sort_unstable();
        let version = (name(record.version.uuid), record.version.renewals);
        (record.row as u8, version, record.expiry, valid)
    };
    seen(&|uuid| uuid).min(seen(&other))
}

type Outside = (u8, (Id, u8), i8, Vec<(Id, u8)>);

/// `dominance` omits steps, but none of their consequences.
#[ignore = "a look at the search itself, of which each takes seconds; .ci/run plays it"]
#[test]
fn the_dominant_steps_lead_to_everything_that_all_steps_lead_to() {
    let more = |discipline| {
        let base = Config {
            renewals: 1,
            dominant: false,
            ..Config::new(discipline)
        };
        [
            Config {
                tries: 1,
                ..base.clone()
            },
            Config {
                crashes: 0,
                copies: 0,
                drifts: 0,
                ..base
            },
        ]
    };
    for config in [Discipline::StoreClock, Discipline::Observer]
        .into_iter()
        .flat_map(|discipline| small(discipline).into_iter().chain(more(discipline)))
    {
        let outside = |config: &Config| -> HashSet<Outside> {
            reachable(&Protocol::new(config.clone()))
                .iter()
                .map(|state| seen_from_outside(config, state))
                .collect()
        };
        let all = outside(&config);
        let dominant = outside(&Config {
            dominant: true,
            crashes: 0,
            ..config.clone()
        });
        println!("{} views of {config:?}", all.len());
        assert!(!all.is_empty());
        let missing: Vec<_> = all.difference(&dominant).take(5).collect();
        assert!(missing.is_empty(), "{missing:?} of {config:?}");
    }
}
