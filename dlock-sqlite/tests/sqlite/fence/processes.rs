//! Writers of several processes at one fence, one of which dies.

use super::{change, connect, database, fence, immediate, prepared, stale, state, token, write};
use crate::support::{Kid, Role, Scratch};

#[test]
fn tokens_of_many_processes_leave_the_highest() {
    const TEST: &str = "fence::processes::tokens_of_many_processes_leave_the_highest";
    const WRITES: u64 = 500;
    const PROCESSES: u64 = 4;
    if let Some(role) = Role::get() {
        let mut connection = connect(&role.file);
        let share: u64 = role.role.parse().unwrap();
        role.say("ready");
        role.listen();
        let (mut known, mut admitted) = (0, 0);
        for n in 0..WRITES {
            // Scattered: 2003 is a prime, so each number below it comes once.
            let value = 1 + (n * PROCESSES + share) * 1_009 % 2_003;
            match stale(write(&mut connection, token(value), value)) {
                Ok(()) => {
                    assert!(value >= known, "{value} was admitted after {known}");
                    (known, admitted) = (value, admitted + 1);
                }
                Err(stale) => known = stale.highest.get(),
            }
        }
        role.say(admitted);
        role.listen();
        return;
    }
    let scratch = Scratch::new();
    let path = database(&scratch);
    let connection = prepared(&path, "wal");
    let mut kids: Vec<_> = (0..PROCESSES)
        .map(|share| Kid::start(TEST, &share.to_string(), &path))
        .collect();
    for kid in &kids {
        assert_eq!(kid.hear(), "ready");
    }
    for kid in &mut kids {
        kid.tell("go");
    }
    let admitted: u64 = kids
        .iter()
        .map(|kid| kid.hear().parse::<u64>().unwrap())
        .sum();
    for mut kid in kids {
        kid.tell("end");
        kid.join();
    }
    let highest = (0..WRITES * PROCESSES)
        .map(|n| 1 + n * 1_009 % 2_003)
        .max()
        .unwrap();
    assert_eq!(state(&connection), (highest, admitted, Some(highest)));
}

#[test]
fn process_that_dies_between_check_and_commit_leaves_nothing() {
    const TEST: &str =
        "fence::processes::process_that_dies_between_check_and_commit_leaves_nothing";
    if let Some(role) = Role::get() {
        let mut connection = connect(&role.file);
        // So that its writes reach the files before the commit.
        connection.pragma_update(None, "cache_size", 1).unwrap();
        let transaction = immediate(&mut connection);
        fence().check(&transaction, "resource 1", token(9)).unwrap();
        if role.role == "data too" {
            change(&transaction, 9);
            transaction
                .execute_batch(
                    "CREATE TABLE bulk (text TEXT);
                     WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
                         INSERT INTO bulk SELECT hex(randomblob(1000)) FROM n",
                )
                .unwrap();
        }
        role.say("checked");
        role.listen();
        unreachable!("it is killed");
    }
    for journal in ["wal", "delete"] {
        for how_far in ["check alone", "data too"] {
            let scratch = Scratch::new();
            let path = database(&scratch);
            let mut connection = prepared(&path, journal);
            write(&mut connection, token(5), 5).unwrap();
            let kid = Kid::start(TEST, how_far, &path);
            assert_eq!(kid.hear(), "checked");
            assert_eq!(kid.kill(), None);
            assert_eq!(state(&connection), (5, 1, Some(5)), "{journal}, {how_far}");
            // 9 was never written, so 6 is not stale.
            write(&mut connection, token(6), 6).unwrap();
            assert_eq!(state(&connection), (6, 2, Some(6)));
        }
    }
}
