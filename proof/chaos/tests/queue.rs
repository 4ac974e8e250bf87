//! A short run with tasks on each store that has a queue finds nothing, and sabotaged runs are noticed: `.ci/run`.

#![cfg(all(unix, any(feature = "postgres", feature = "sqlite")))]

mod support;

use std::process::Output;

fn chaos(arguments: &[&str]) -> Output {
    support::run(support::chaos().arg("tasks").args(arguments))
}

fn every_task_ends_once_on(store: &str) {
    support::finds_nothing(store, || chaos(&["--store", store, "--seconds", "12"]));
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "the better part of a minute: scripts/proof"]
fn postgres_ends_every_task_and_none_twice() {
    every_task_ends_once_on("postgres");
}

#[cfg(feature = "sqlite")]
#[test]
#[ignore = "the better part of a minute: scripts/proof"]
fn sqlite_ends_every_task_and_none_twice() {
    every_task_ends_once_on("sqlite");
}

#[cfg(feature = "sqlite")]
fn sabotaged(how: &str) -> String {
    let output = chaos(&["--store", "sqlite", "--seconds", "3", "--sabotage", how]);
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The scripted pause suffices to find an account that checks no tokens.
#[cfg(feature = "sqlite")]
#[test]
#[ignore = "the better part of a minute: scripts/proof"]
fn account_that_checks_no_tokens_is_found() {
    let printed = sabotaged("unfenced");
    assert!(printed.contains("BROKEN: the account of task"), "{printed}");
}

#[cfg(feature = "sqlite")]
#[test]
#[ignore = "the better part of a minute: scripts/proof"]
fn run_without_a_fault_proves_nothing() {
    let printed = sabotaged("peaceful");
    assert!(printed.contains("TOOTHLESS: worker killed: 0"), "{printed}");
    assert!(!printed.contains("BROKEN"), "{printed}");
}
