//! The verdict on handmade evidence.

use std::time::{Duration, SystemTime};

use uuid::Uuid;

use super::*;
use crate::tasks::{
    evidence::{Ended, Write},
    note::Note,
    payload::JobPayload,
};

type Spoil = fn(&mut Evidence);

fn note(t: u64, process: &str, token: u64, what: What) -> Note {
    Note {
        t,
        process: process.into(),
        task: 1,
        token,
        what,
    }
}

fn ended(how: How, state: State, attempt: u32) -> Ended {
    let errand = JobPayload {
        how,
        takes: 0,
        within: false,
        order: None,
        parent: None,
    };
    Ended {
        errand,
        state,
        attempt,
    }
}

/// A task that a second worker took over and completed in a transaction, with all its traces.
fn good() -> Evidence {
    let look = |to| What::Look { valid: true, to };
    let mut evidence = Evidence {
        notes: vec![
            note(
                10,
                "a",
                5,
                What::Began {
                    attempt: 1,
                    found: 0,
                },
            ),
            note(11, "a", 5, look(12)),
            note(13, "a", 5, What::Kept { step: 1 }),
            note(
                30,
                "b",
                6,
                What::Began {
                    attempt: 2,
                    found: 1,
                },
            ),
            note(31, "b", 6, look(32)),
        ],
        effects: vec![(1, 6)],
        orders: vec![Uuid::from_u128(9)],
        writes: [5, 6]
            .map(|token| Write {
                task: 1,
                fenced: true,
                token,
                accepted: true,
            })
            .into(),
        ticks: (0..5)
            .map(|second| SystemTime::UNIX_EPOCH + Duration::from_secs(second))
            .collect(),
        ..Evidence::default()
    };
    let mut done = ended(How::Steps, State::Succeeded, 2);
    (done.errand.within, done.errand.order) = (true, Some(Uuid::from_u128(9)));
    let mut next = ended(How::Succeeds, State::Succeeded, 1);
    next.errand.parent = Some(1);
    evidence
        .errands
        .extend([(1, done), (2, next), (3, ended(How::Fails, State::Dead, 3))]);
    evidence
}

fn complaints(evidence: &Evidence) -> Vec<String> {
    let mut complaints = rules::broken(evidence);
    complaints.extend(claims::broken(evidence));
    complaints
}

#[test]
fn what_must_be_so_is_good() {
    assert_eq!(complaints(&good()), [""; 0]);
}

#[test]
fn everything_that_must_not_be_is_seen() {
    let spoilt: [(&str, Spoil); 17] = [
        ("is running", |it| it.task(3).state = State::Running),
        ("is dead after 2", |it| it.task(3).attempt = 2),
        ("is cancelled", |it| it.task(3).state = State::Cancelled),
        ("is dead after 1", |it| it.task(2).state = State::Dead),
        ("effects in the database of task 1", |it| {
            it.effects.push((1, 6));
        }),
        ("effects in the database of task 1", |it| it.effects.clear()),
        ("effects in the database of task 3", |it| {
            it.effects.push((3, 6));
        }),
        ("which is not there", |it| it.effects.push((7, 6))),
        ("tasks that follow", |it| it.task(2).errand.parent = None),
        ("completed with token 5", |it| it.effects = vec![(1, 5)]),
        ("order", |it| it.orders.clear()),
        ("order", |it| {
            it.notes
                .push(note(50, "a", 0, What::Placed { order: Uuid::nil() }));
        }),
        ("took token 5 after 6", |it| it.writes.reverse()),
        ("tasks of the clock", |it| it.ticks.extend_from_within(3..)),
        ("believes in token 5", |it| {
            it.notes.push(note(
                33,
                "a",
                5,
                What::Look {
                    valid: true,
                    to: 34,
                },
            ));
        }),
        ("has a handler in", |it| {
            it.notes.push(note(
                33,
                "c",
                6,
                What::Began {
                    attempt: 2,
                    found: 1,
                },
            ));
        }),
        ("token 7 found 0", |it| {
            it.notes.push(note(
                40,
                "c",
                7,
                What::Began {
                    attempt: 3,
                    found: 0,
                },
            ));
        }),
    ];
    for (number, (what, spoil)) in spoilt.iter().enumerate() {
        let mut evidence = good();
        spoil(&mut evidence);
        let complaints = complaints(&evidence);
        assert!(
            complaints.iter().any(|complaint| complaint.contains(what)),
            "{number} {what}: {complaints:?}"
        );
    }
}

#[test]
fn handler_that_goes_on_is_seen_and_one_late_poll_is_not() {
    let mut evidence = good();
    let lost = |t| {
        note(
            t,
            "a",
            5,
            What::Look {
                valid: false,
                to: t,
            },
        )
    };
    evidence.notes.extend((14..23).map(lost));
    assert_eq!(complaints(&evidence), [""; 0]);
    evidence.notes.push(lost(23));
    assert!(complaints(&evidence)[0].contains("continues"));
}

impl Evidence {
    fn task(&mut self, id: i64) -> &mut Ended {
        self.errands
            .entry(id)
            .or_insert_with(|| panic!("no task {id}"))
    }
}
