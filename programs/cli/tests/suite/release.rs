//! `dlock release`.

use std::time::Duration;

use crate::support::{
    ALONE, Scene,
    shell::Shell,
    stores::{TRY, assert_ended, force_frees_at_once, revoked_holder_ends_before_the_next_one},
};

const FORCE: &[&str] = &["release", "lock", "--force", "--yes"];

/// Holds the lock until the test says `go`.
const HOLD: &str = r#"echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.02; done"#;

#[test]
fn lease_is_revoked_and_others_enter_when_it_ends() {
    revoked_holder_ends_before_the_next_one(&Scene::new());
}

#[test]
fn forced_lock_is_free_at_once() {
    force_frees_at_once(&Scene::new());
}

#[test]
fn free_lock_is_left_as_it_is() {
    let scene = Scene::new();
    assert_eq!(scene.finish(["run", "lock", "--", "true"]).code(), 0);
    let before = scene.status();
    for arguments in [&["release", "lock"][..], FORCE] {
        let finished = scene.finish(arguments);
        assert_ended(&finished, 0, "");
        assert!(finished.out.starts_with("nothing to do: "), "{finished:?}");
    }
    assert_eq!(scene.status(), before);
}

#[test]
fn lock_whose_lease_has_ended_is_left_as_it_is() {
    let scene = Scene::new();
    let acquired = scene.finish(["acquire", "lock", "--lease", "1h"]);
    assert_ended(&acquired, 0, "");
    scene.end_lease("lock");
    let finished = scene.finish(["release", "lock"]);
    assert_ended(&finished, 0, "");
    assert!(finished.out.contains("has ended"), "{finished:?}");
}

#[test]
fn unknown_name_is_1_and_makes_no_store() {
    let scene = Scene::new();
    let mut command = scene.dlock(["release", "lock"]);
    command.env_remove("DLOCK_STORE");
    let finished = scene.start(command).finish(Duration::from_secs(30));
    assert_ended(&finished, 1, "there is no lock \"lock\"");
    assert!(!scene.path(".local").exists());
    assert_eq!(scene.finish(["run", "other", "--", "true"]).code(), 0);
    assert_ended(&scene.finish(FORCE), 1, "there is no lock \"lock\"");
}

#[test]
fn closed_lock_opens_by_force_only() {
    let scene = Scene::new();
    let job = [
        "run",
        "lock",
        "--no-wait",
        "--at-least",
        "10m",
        "--",
        "true",
    ];
    assert_eq!(scene.finish(job).code(), 0);
    let finished = scene.finish(["release", "lock"]);
    assert_ended(&finished, 75, "closed after the work of");
    assert_ended(&finished, 75, "--force");
    assert_ended(&scene.finish(TRY), 75, "closed");
    assert_ended(&scene.finish(FORCE), 0, "may run again");
    assert_eq!(scene.finish(job).code(), 0);
}

#[test]
fn force_without_a_terminal_changes_nothing_and_says_how_to_look_first() {
    let scene = Scene::new();
    let holder = scene.run(&[], HOLD);
    scene.await_trace("in");
    let refused = scene.finish(["release", "lock", "--force"]);
    assert_ended(&refused, 64, "dlock status \"lock\"");
    assert_ended(&refused, 64, "two at a time");
    // A script would follow that advice blindly.
    assert!(!refused.err.contains("--yes"), "{refused:?}");
    assert_ended(&scene.finish(["release", "lock", "--yes"]), 64, "--force");
    assert!(scene.status().contains("\"held\""));
    drop(holder);
}

#[test]
fn force_asks_on_a_terminal_and_only_yes_is_one() {
    let scene = Scene::new();
    let script = format!(r#"{ALONE} {HOLD}"#);
    let _holder = scene.run(&["--lease", "1h"], &script);
    scene.await_trace("in");
    let mut shell = Shell::start(&scene);
    for answer in ["", "n", "what"] {
        shell.line(r#""$DLOCK" release lock --force; echo co""de=$?."#);
        shell.expect("only a check of the token");
        shell.expect("[y/N] ");
        shell.line(answer);
        shell.expect_code(1);
        assert!(scene.status().contains("\"held\""), "{answer:?}");
    }
    shell.line(r#""$DLOCK" release lock --force; echo co""de=$?."#);
    shell.expect("[y/N] ");
    shell.line("y");
    shell.expect("\"lock\" is free");
    shell.expect_code(0);
    assert!(scene.status().contains("\"released\""));
}

/// A lock that gets another holder between the question and the answer is left alone.
#[test]
fn lock_that_changed_while_the_user_was_asked_is_left_to_its_new_holder() {
    let scene = Scene::new();
    let holder = scene.run(&["--lease", "1h"], HOLD);
    scene.await_trace("in");
    let mut shell = Shell::start(&scene);
    shell.line(r#""$DLOCK" release lock --force; echo co""de=$?."#);
    shell.expect("[y/N] ");
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(holder.code(), 0);
    std::fs::remove_file(scene.path("go")).unwrap();
    let second = r#"echo second >> "$T/trace"; sleep 600"#;
    let _second = scene.run(&["--lease", "1h", "--owner", "newcomer"], second);
    scene.await_trace("second");
    shell.line("y");
    shell.expect("changed after it was read");
    shell.expect("held by newcomer");
    shell.expect_code(75);
    assert!(scene.status().contains("\"held\""));
}
