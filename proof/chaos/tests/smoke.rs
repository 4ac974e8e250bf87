//! A short run of chaos on each store finds nothing (`.ci/run`), and sabotaged runs are noticed.

#![cfg(unix)]

mod support;

use std::process::Output;

fn chaos(arguments: &[&str]) -> Output {
    support::run(support::chaos().arg("run").args(arguments))
}

#[cfg(any(
    feature = "dynamodb",
    feature = "etcd",
    feature = "postgres",
    feature = "redis",
    feature = "sqlite"
))]
fn nothing_is_found_on(store: &str) {
    support::finds_nothing(store, || chaos(&["--store", store, "--seconds", "35"]));
}

#[cfg(feature = "dynamodb")]
#[test]
#[ignore = "the better part of a minute: .ci/run"]
fn dynamodb_keeps_its_promises_under_chaos() {
    nothing_is_found_on("dynamodb");
}

#[cfg(feature = "etcd")]
#[test]
#[ignore = "the better part of a minute, and an etcd: .ci/run"]
fn etcd_keeps_its_promises_under_chaos() {
    nothing_is_found_on("etcd");
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "the better part of a minute: .ci/run"]
fn postgres_keeps_its_promises_under_chaos() {
    nothing_is_found_on("postgres");
}

#[cfg(feature = "redis")]
#[test]
#[ignore = "the better part of a minute: .ci/run"]
fn redis_keeps_its_promises_under_chaos() {
    nothing_is_found_on("redis");
}

#[cfg(feature = "sqlite")]
#[test]
#[ignore = "the better part of a minute: .ci/run"]
fn sqlite_keeps_its_promises_under_chaos() {
    nothing_is_found_on("sqlite");
}

/// Five seconds that fail on purpose: the output, with the history kept.
#[cfg(feature = "sqlite")]
fn sabotaged(how: &str) -> String {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
    let output = support::run(
        support::chaos()
            .args(["run", "--store", "sqlite", "--seconds", "5"])
            .args(["--sabotage", how])
            .env("DLOCK_HISTORIES", folder.path()),
    );
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1));
    let kept = printed
        .lines()
        .find_map(|line| line.strip_prefix("history: "));
    let kept = kept.unwrap_or_else(|| panic!("no history"));
    assert!(
        std::fs::metadata(kept).is_ok_and(|file| file.len() > 0),
        "{kept}"
    );
    printed
}

/// I5: the scripted pause suffices to find storage that checks no tokens.
#[cfg(feature = "sqlite")]
#[test]
fn fenced_storage_that_does_not_check_is_found() {
    assert!(sabotaged("unfenced").contains("BROKEN: I5"), "no I5");
}

#[cfg(feature = "sqlite")]
#[test]
fn run_without_a_fault_proves_nothing() {
    let printed = sabotaged("peaceful");
    assert!(printed.contains("TOOTHLESS: worker killed: 0"));
    assert!(!printed.contains("BROKEN"));
}

#[test]
fn store_that_was_not_built_in_is_no_run() {
    for store in ["dynamodb", "etcd", "postgres", "redis", "sqlite"] {
        let built = match store {
            "dynamodb" => cfg!(feature = "dynamodb"),
            "etcd" => cfg!(feature = "etcd"),
            "postgres" => cfg!(feature = "postgres"),
            "redis" => cfg!(feature = "redis"),
            _ => cfg!(feature = "sqlite"),
        };
        if !built {
            assert_eq!(chaos(&["--store", store]).status.code(), Some(2), "{store}");
        }
    }
    assert_eq!(chaos(&["--store", "none"]).status.code(), Some(2));
}
