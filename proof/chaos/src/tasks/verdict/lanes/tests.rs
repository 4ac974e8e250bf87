//! The verdict of the rules of lanes and limits on handmade ledgers.

use super::*;
use crate::tasks::{
    QUEUE,
    ledger::Seen,
    note::{Note, What},
};

type Spoil = fn(&mut Evidence);

/// The duration of the leases here, in nanoseconds.
const LEASE: i64 = 100;

/// The entry of a task in a lane that no claim holds, and that has been due for long.
fn entry(place: u64, task: i64) -> Entry {
    Entry {
        place,
        task,
        queue: QUEUE.into(),
        lane: Some("east".into()),
        priority: 5,
        run_at: 0,
        token: 0,
        held: false,
        expiry: 0,
        duration: LEASE,
        gone: false,
        due: 1,
        seen: Seen {
            own: place,
            below: place,
            open: Vec::new(),
        },
    }
}

/// The store has given the task out at this instant, or renewed its lease then.
fn held(place: u64, task: i64, token: u64, at: i64) -> Entry {
    Entry {
        token,
        held: true,
        expiry: at + LEASE,
        ..entry(place, task)
    }
}

fn gone(place: u64, task: i64) -> Entry {
    Entry {
        gone: true,
        ..held(place, task, 1, 0)
    }
}

fn limited(entry: Entry) -> Entry {
    Entry {
        queue: LIMITED.into(),
        lane: None,
        ..entry
    }
}

fn look(task: i64, token: u64, t: u64) -> Note {
    Note {
        t,
        process: "a".into(),
        task,
        token,
        what: What::Look {
            valid: true,
            to: t + 1,
        },
    }
}

/// Three tasks in a lane: the second is more urgent and becomes visible late, the first is taken over. And as many
/// tasks as may run in the queue with a limit, of which one loses its place.
fn good() -> Evidence {
    let mut urgent = entry(3, 2);
    urgent.priority = 4;
    let mut first = held(4, 1, 7, 1000);
    // The more urgent task was not committed when the claim looked.
    first.seen.open.push(3);
    let mut ledger = vec![
        entry(1, 1),
        entry(2, 3),
        urgent.clone(),
        first,
        held(5, 1, 7, 1050),
        held(6, 1, 8, 1150),
        gone(7, 1),
        Entry {
            priority: 4,
            ..held(8, 2, 9, 1160)
        },
        gone(9, 2),
        held(10, 3, 10, 1170),
    ];
    let most = u64::from(LIMIT);
    for number in 0..=most {
        ledger.push(limited(entry(20 + number, 20 + number.cast_signed())));
    }
    for number in 0..most {
        let (task, at) = (20 + number.cast_signed(), 2000 + number.cast_signed());
        ledger.push(limited(held(30 + number, task, 30 + number, at)));
    }
    ledger.push(limited(held(40, 20 + most.cast_signed(), 40, 2000 + LEASE)));
    let notes = [
        (1, 7, 10),
        (1, 7, 20),
        (1, 8, 30),
        (1, 8, 40),
        (2, 9, 50),
        (2, 9, 60),
    ];
    Evidence {
        ledger,
        notes: notes.map(|(task, token, t)| look(task, token, t)).into(),
        ..Evidence::default()
    }
}

impl Evidence {
    fn entry(&mut self, place: u64) -> &mut Entry {
        let entry = self.ledger.iter_mut().find(|entry| entry.place == place);
        entry.unwrap_or_else(|| panic!("no entry {place}"))
    }

    fn without(&mut self, place: u64) {
        self.ledger.retain(|entry| entry.place != place);
    }
}

#[test]
fn what_must_be_so_is_good_and_counted() {
    assert_eq!(broken(&good()), [""; 0]);
    let counted = Tally {
        in_lanes: 4,
        waited_for: 3,
        limited: u64::from(LIMIT) + 1,
        filled: 2,
        lanes_freed: 1,
        places_freed: 1,
    };
    assert_eq!(tally(&good()), counted);
}

#[test]
fn everything_that_must_not_be_is_seen() {
    let spoilt: [(&str, Spoil); 9] = [
        ("task 1 with token 8 1 ns before", |it| {
            it.entry(6).expiry -= 1;
        }),
        (
            "task 2 with token 9 90 ns before the end of the lease of task 1",
            |it| it.without(7),
        ),
        // Its lease has run out, but it has not been given back.
        ("task 2 before task 1", |it| {
            it.without(7);
            it.entry(8).expiry = 1251 + LEASE;
        }),
        ("task 3 before task 2", |it| {
            it.without(8);
            it.without(9);
        }),
        ("task 1 before task 2", |it| it.entry(4).seen.open.clear()),
        ("the limit is 3, and the store let 4 run", |it| {
            it.entry(40).expiry -= 1;
        }),
        (
            "lane east of errands: workers believe at the same time in task 1 with token 8, task 2",
            |it| {
                it.notes.push(look(1, 8, 55));
            },
        ),
        (
            "at the same time in task 1 with token 7, task 1 with token 8",
            |it| {
                it.notes.push(look(1, 7, 35));
            },
        ),
        (
            "the limit is 3, and workers believe at the same time in task 20",
            |it| {
                for task in 20..24 {
                    it.notes.extend([look(task, 1, 70), look(task, 1, 80)]);
                }
            },
        ),
    ];
    for (number, (what, spoil)) in spoilt.iter().enumerate() {
        let mut evidence = good();
        spoil(&mut evidence);
        let wrong = broken(&evidence);
        assert!(
            wrong.iter().any(|complaint| complaint.contains(what)),
            "{number} {what}: {wrong:?}"
        );
    }
}

/// A task that was not certainly due, or not visible, does not come first.
#[test]
fn task_that_falls_due_while_a_claim_looks_keeps_nobody_waiting() {
    let mut evidence = good();
    evidence.entry(4).seen.open.clear();
    evidence.entry(3).run_at = 2;
    assert_eq!(broken(&evidence), [""; 0]);
    evidence.entry(4).due = 2;
    assert_eq!(broken(&evidence).len(), 1);
}

/// A task that is cancelled by force frees its lane before its worker learns of it.
#[test]
fn belief_in_a_task_that_is_cancelled_is_nothing_wrong() {
    let mut evidence = good();
    evidence.notes.push(look(1, 8, 55));
    assert_eq!(broken(&evidence).len(), 1);
    evidence.cancelled.insert(1);
    assert_eq!(broken(&evidence), [""; 0]);
}
