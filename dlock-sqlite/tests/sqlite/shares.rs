//! Turns between real processes: one whose tasks contend in crowds keeps the lock from no other process.

use std::{fs, io::Write, path::PathBuf, thread, time::Duration};

use dlock_core::DLock;
use dlock_sqlite::SqliteProvider;
use tokio::time::{Instant, sleep};

use crate::support::{Kid, PATIENCE, Role, Scratch, block_on};

const PROCESSES: usize = 3;
/// More tasks in the first than in all others, so that shares by task would show.
const TASKS: [usize; PROCESSES] = [8, 2, 2];
const LEASE: Duration = Duration::from_secs(1);
const WORK: Duration = Duration::from_millis(5);
/// A turn is all terms of one process between those of others. A process that leaves nothing to others has a turn that
/// does not end.
const TURNS: usize = 10;

/// One of the processes: its tasks take the lock, note whose term it is, and try again at once.
async fn contend(file: PathBuf, number: usize) {
    let provider = SqliteProvider::open(&file).unwrap();
    let lock = DLock::builder()
        .name("shared")
        .owner(format!("process {number}"))
        .duration(LEASE)
        .provider(provider)
        .build()
        .unwrap();
    let log = file.with_extension("terms");
    for _ in 0..TASKS[number] {
        let (lock, log) = (lock.clone(), log.clone());
        tokio::spawn(async move {
            loop {
                let lease = lock.acquire().await.unwrap();
                let mut log = fs::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(&log)
                    .unwrap();
                writeln!(log, "{number}").unwrap();
                sleep(WORK).await;
                lease.release().await.unwrap();
            }
        });
    }
    std::future::pending::<()>().await;
}

#[test]
fn no_process_keeps_the_lock_from_others() {
    const TEST: &str = "shares::no_process_keeps_the_lock_from_others";
    if let Some(role) = Role::get() {
        let number = role.role.parse().unwrap();
        role.say("ready");
        role.listen();
        // Until the parent closes the pipe, or kills it.
        block_on(contend(role.file.clone(), number));
        return;
    }
    let scratch = Scratch::new();
    let log = scratch.path().with_extension("terms");
    // The file is made before they compete for it.
    drop(scratch.provider());
    let mut processes: Vec<_> = (0..PROCESSES)
        .map(|number| Kid::start(TEST, &number.to_string(), &scratch.path()))
        .collect();
    for process in &processes {
        assert_eq!(process.hear(), "ready");
    }
    for process in &mut processes {
        process.tell("go");
    }
    let began = Instant::now();
    loop {
        thread::sleep(Duration::from_millis(100));
        let text = fs::read_to_string(&log).unwrap_or_default();
        // The last line may be half written.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let terms = whole.lines().map(|line| line.parse::<usize>().unwrap());
        let mut turns: Vec<usize> = terms.collect();
        turns.dedup();
        let of = |number: usize| turns.iter().filter(|by| **by == number).count();
        let least = (0..PROCESSES).map(of).min().unwrap_or_default();
        if least >= TURNS {
            break;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "turns of each process: {:?}",
            (0..PROCESSES).map(of).collect::<Vec<_>>()
        );
    }
    for process in processes {
        process.kill();
    }
}
