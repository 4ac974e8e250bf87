//! What the search leaves out does not matter: on configurations small enough for both, the reduced
//! search finds exactly the normal forms of all states, and the full one finds no violation that it
//! misses.

use std::collections::HashSet;

use dlock_model::{Config, Discipline, Event, Protocol, Rule, State, search};
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

fn small(discipline: Discipline) -> [Config; 4] {
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
        Config { revokes: 1, ..base },
    ]
}

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
#[test]
fn normal_forms_are_final() {
    for config in small(Discipline::StoreClock) {
        let protocol = Protocol::new(config);
        for state in reachable(&protocol) {
            assert_eq!(protocol.normal_form(&state), state);
        }
    }
}

/// The rules of the tables are all reachable in the full model.
#[test]
fn every_rule_answers_somewhere() {
    let config = Config {
        tries: 1,
        renewals: 2,
        copies: 1,
        crashes: 0,
        drifts: 0,
        dominant: false,
        reduced: false,
        durations: [2; 3],
        ..Config::new(Discipline::StoreClock)
    };
    let outcome = search(&config, "every rule");
    assert!(outcome.violation.is_none());
    for rule in [
        Rule::A1,
        Rule::A2,
        Rule::A3,
        Rule::A4,
        Rule::A5,
        Rule::A6,
        Rule::A7,
        Rule::R1,
        Rule::R2,
        Rule::R3,
        Rule::L1,
        Rule::L2,
        Rule::L3,
    ] {
        assert!(outcome.seen().has(Event::Store(rule)), "{rule:?}");
    }
}
