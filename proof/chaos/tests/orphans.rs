//! A controller that is killed leaves nothing behind, not even a stopped worker.

#![cfg(all(target_os = "linux", feature = "sqlite"))]
#![expect(clippy::unwrap_used, reason = "test code")]

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use tokio::time::Instant;

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    let all = lists.iter().flat_map(|list| list.split_whitespace());
    all.map(|child| child.parse().unwrap()).collect()
}

/// The state of a process, `T` if it was stopped; and when it began, so that another process with
/// its number is not mistaken for it. `None` if there is no such process.
fn state(pid: u32) -> Option<(char, String)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
    Some((
        fields.first()?.chars().next()?,
        (*fields.get(19)?).to_owned(),
    ))
}

fn until(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn workers_end_with_a_controller_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut controller: Child = Command::new(env!("CARGO_BIN_EXE_dlock-chaos"))
        .args(["run", "--store", "sqlite", "--seconds", "60", "--tethered"])
        .env("TMPDIR", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The nemesis and the trap stop workers all the time.
    let mut workers = Vec::new();
    until("a worker stands still", || {
        workers = children(controller.id());
        let stopped = |pid: &u32| matches!(state(*pid), Some(('T', _)));
        workers.len() == 4 && workers.iter().any(stopped)
    });
    let began: Vec<_> = workers
        .iter()
        .filter_map(|pid| Some((*pid, state(*pid)?.1)))
        .collect();
    assert!(!began.is_empty());
    controller.kill().unwrap();
    controller.wait().unwrap();
    for (pid, began) in began {
        until("a worker is gone", || {
            state(pid).is_none_or(|(state, since)| since != began || state == 'Z')
        });
    }
}
