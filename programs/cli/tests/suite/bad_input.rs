//! Input that can't work is refused, with the right code and a helpful message, and changes
//! nothing.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

mod stores;

use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

use crate::support::{Finished, Scene};

fn assert_refused(finished: &Finished, code: i32, words: &str) {
    assert_eq!(finished.code(), code, "{finished:?}");
    assert!(finished.err.contains(words), "not {words:?}: {finished:?}");
    assert!(!finished.err.contains("panicked"), "{finished:?}");
}

fn mode(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn run_with(scene: &Scene, options: &[&str]) -> Finished {
    scene.finish([&["run", "lock"], options, &["--", "touch", "never"]].concat())
}

#[test]
fn names_that_are_none_are_64_and_leave_no_store() {
    let scene = Scene::new();
    for name in [String::new(), "x".repeat(1025)] {
        assert_refused(
            &scene.finish(["run", &name, "--", "true"]),
            64,
            "1 to 1024 bytes",
        );
        assert_refused(&scene.finish(["status", &name]), 64, "1 to 1024 bytes");
    }
    assert!(!scene.path("locks.db").exists());
    let name = "x".repeat(1024);
    assert_eq!(scene.finish(["run", &name, "--", "true"]).code(), 0);
}

#[test]
fn names_that_are_not_text_are_64() {
    use std::os::unix::ffi::OsStrExt;
    let scene = Scene::new();
    let mut command = scene.dlock(["run"]);
    command
        .arg(std::ffi::OsStr::from_bytes(b"\xff"))
        .args(["--", "true"]);
    assert_refused(
        &scene.start(command).finish(Duration::from_secs(30)),
        64,
        "UTF-8",
    );
}

#[test]
fn leases_out_of_range_are_64() {
    let scene = Scene::new();
    for lease in ["0s", "1us", "99ms", "1500500us", "25h", "5000years"] {
        assert_refused(&run_with(&scene, &["--lease", lease]), 64, "100 ms to 24 h");
    }
    for lease in ["", "1 5", "-1s", "soon", "99999999999999999999999s"] {
        assert_eq!(
            run_with(&scene, &[&format!("--lease={lease}")]).code(),
            64,
            "{lease}"
        );
    }
    // The shortest lease may end before a busy machine has started anything.
    let shortest = scene.finish(["run", "lock", "--lease", "100ms", "--", "true"]);
    assert!([0, 80].contains(&shortest.code()), "{shortest:?}");
    assert_eq!(
        scene
            .finish(["run", "lock", "--lease", "24h", "--", "true"])
            .code(),
        0
    );
}

#[test]
fn grace_above_a_quarter_of_the_lease_is_64() {
    let scene = Scene::new();
    assert_refused(
        &run_with(&scene, &["--grace", "3751ms"]),
        64,
        "at most --grace 3.75s",
    );
    assert_refused(
        &run_with(&scene, &["--lease", "4s", "--grace", "1001ms"]),
        64,
        "quarter",
    );
    assert_eq!(
        scene
            .finish([
                "run", "lock", "--lease", "4s", "--grace", "1s", "--", "true"
            ])
            .code(),
        0
    );
    assert_eq!(
        scene
            .finish(["run", "lock", "--grace", "0s", "--", "true"])
            .code(),
        0
    );
}

#[test]
fn waits_of_any_length_are_possible() {
    let scene = Scene::new();
    for wait in ["0s", "1m", "1000000years"] {
        assert_eq!(
            scene
                .finish(["run", "lock", "--wait", wait, "--", "true"])
                .code(),
            0,
            "{wait}"
        );
    }
}

#[test]
fn command_lines_that_say_nothing_or_too_much_are_64() {
    let scene = Scene::new();
    for words in [
        &[][..],
        &["run"],
        &["run", "lock"],
        &["run", "lock", "--"],
        &["run", "lock", "true"],
        &["run", "lock", "--no-wait", "--wait", "1s", "--", "true"],
        &["run", "lock", "--no-such-option", "--", "true"],
        &["walk", "lock"],
    ] {
        let refused = scene.finish(words);
        assert_eq!(refused.code(), 64, "{words:?}: {refused:?}");
        assert!(!refused.err.is_empty());
    }
    let owner = "o".repeat(1025);
    assert_refused(
        &run_with(&scene, &["--owner", &owner]),
        64,
        "at most 1024 bytes",
    );
}

#[test]
fn help_and_version_are_0_and_teach() {
    let scene = Scene::new();
    let help = scene.finish(["run", "--help"]);
    assert_eq!(help.code(), 0);
    for word in [
        "DLOCK_TOKEN",
        "Examples:",
        "Exit codes:",
        "80",
        "What it can't promise",
        "--grace",
    ] {
        assert!(help.out.contains(word), "{word}: {}", help.out);
    }
    for words in [
        &["--help"][..],
        &["--version"],
        &["status", "--help"],
        &["help", "run"],
    ] {
        assert_eq!(scene.finish(words).code(), 0, "{words:?}");
    }
}

#[test]
fn output_that_can_not_be_written_is_74() {
    let scene = Scene::new();
    assert_eq!(scene.finish(["run", "lock", "--", "true"]).code(), 0);
    for words in [
        &["status"][..],
        &["status", "lock"],
        &["status", "--json"],
        &["release", "lock"],
        &["purge"],
        &["setup"],
        &["elect", "job"],
        &["--help"],
    ] {
        let mut shell = std::process::Command::new("sh");
        scene.adopt(&mut shell);
        shell.args(["-c", r#"exec "$DLOCK" "$@" > /dev/full"#, "sh"]);
        shell.args(words);
        let finished = scene.start(shell).finish(Duration::from_secs(30));
        assert_refused(&finished, 74, "can't write to standard output");
    }
    // A reader that has read enough is not an error.
    let mut shell = std::process::Command::new("sh");
    scene.adopt(&mut shell);
    shell.args(["-c", r#"for words in status "watch lock"; do { "$DLOCK" $words; echo "code $?" >&2; } | true; done"#]);
    let finished = scene.start(shell).finish(Duration::from_secs(30));
    assert_eq!(finished.err, "code 0\ncode 0\n", "{finished:?}");
}

#[test]
fn helpers_started_by_hand_do_no_harm() {
    let scene = Scene::new();
    // The guard's channel ends at once.
    for words in [
        &["__guard"][..],
        &["__anchor"],
        &["__stub"],
        &["__stub", "x"],
        &["__stub", "1", "touch", "never"],
    ] {
        scene.finish(words);
        assert!(!scene.path("never").exists(), "{words:?}");
    }
}
