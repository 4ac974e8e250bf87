//! A short run with tasks on each store that has a queue finds nothing, and runs that are broken on purpose are
//! noticed: `.ci/run`.

#![cfg(all(unix, any(feature = "postgres", feature = "sqlite")))]

use std::process::{Command, Output, Stdio};

/// Runs the program, which ends with this process; what it printed is the test's output.
fn chaos(arguments: &[&str]) -> Output {
    let child = Command::new(env!("CARGO_BIN_EXE_dlock-chaos"))
        .args(["tasks", "--tethered"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap_or_else(|error| panic!("the program does not start: {error}"));
    let tether = child.stdin.take();
    let output = child.wait_with_output();
    let output = output.unwrap_or_else(|error| panic!("no output: {error}"));
    drop(tether);
    println!("{}", String::from_utf8_lossy(&output.stdout));
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn every_task_ends_once_on(store: &str) {
    // As in `smoke.rs`: a run that was judged too little of has found nothing, and is followed by another.
    const RUNS: usize = 3;
    for run in 1..=RUNS {
        let output = chaos(&["--store", store, "--seconds", "12"]);
        if output.status.success() {
            return;
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(
            printed.contains("verdict: the run proves nothing"),
            "{store}: {}",
            output.status
        );
        println!("{store}: run {run} of {RUNS} was judged too little of");
    }
    panic!("{store}: {RUNS} runs prove nothing");
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "the better part of a minute: .ci/run"]
fn postgres_ends_every_task_and_none_twice() {
    every_task_ends_once_on("postgres");
}

#[cfg(feature = "sqlite")]
#[test]
#[ignore = "the better part of a minute: .ci/run"]
fn sqlite_ends_every_task_and_none_twice() {
    every_task_ends_once_on("sqlite");
}

#[cfg(feature = "sqlite")]
fn sabotaged(how: &str) -> String {
    let output = chaos(&["--store", "sqlite", "--seconds", "3", "--sabotage", how]);
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The scripted pause is enough to find an account that checks nothing.
#[cfg(feature = "sqlite")]
#[test]
#[ignore = "the better part of a minute: .ci/run"]
fn account_that_checks_no_tokens_is_found() {
    let printed = sabotaged("unfenced");
    assert!(printed.contains("BROKEN: the account of task"), "{printed}");
}

#[cfg(feature = "sqlite")]
#[test]
#[ignore = "the better part of a minute: .ci/run"]
fn run_without_a_fault_proves_nothing() {
    let printed = sabotaged("peaceful");
    assert!(printed.contains("TOOTHLESS: worker killed: 0"), "{printed}");
    assert!(!printed.contains("BROKEN"), "{printed}");
}
