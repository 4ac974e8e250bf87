//! `dlock run --permits`: that many commands at a time.

use std::{collections::BTreeSet, fs, time::Duration};

use crate::support::{Scene, stores::assert_ended, until};

const SOON: Duration = Duration::from_secs(60);

/// A command that says which permit it has, and runs until it may end.
const STAYS: &str =
    r#"echo "$DLOCK_NAME" >> "$T/inside"; while [ ! -e "$T/go" ]; do sleep 0.05; done"#;

fn inside(scene: &Scene) -> Vec<String> {
    let text = fs::read_to_string(scene.path("inside")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn so_many_commands_run_at_a_time_and_no_more() {
    let scene = Scene::new();
    let words = ["run", "crawler", "--permits", "2", "-c", STAYS];
    let two = [(); 2].map(|()| scene.start(scene.dlock(words)));
    until("two commands", || (inside(&scene).len() == 2).then_some(()));
    let names: BTreeSet<_> = inside(&scene).into_iter().collect();
    let expected: BTreeSet<_> = ["crawler/1", "crawler/2"].map(str::to_owned).into();
    assert_eq!(names, expected);

    let words = ["run", "crawler", "--permits", "2"];
    let refused = scene.finish([&words[..], &["-n", "-c", "true"]].concat());
    assert_ended(
        &refused,
        75,
        "each of the 2 permits of \"crawler\" is taken",
    );
    let refused = scene.finish([&words[..], &["-w", "7", "-c", "true"]].concat());
    assert_ended(
        &refused,
        75,
        "each of the 2 permits of \"crawler\" is taken; one is held by",
    );
    assert!(
        refused
            .err
            .contains("waiting for one of the 2 permits of \"crawler\""),
        "{refused:?}"
    );
    let refused = scene.finish([&words[..], &["--all", "-n", "-c", "true"]].concat());
    assert_ended(&refused, 75, "the lock \"crawler/1\" is held by");
    // A third one, for a run that says 3.
    let third = ["run", "crawler", "--permits", "3", "-n", "-c", "true"];
    assert_ended(&scene.finish(third), 0, "");

    let waits = scene.start(scene.dlock([&words[..], &["-c", STAYS]].concat()));
    fs::write(scene.path("go"), "").unwrap();
    for run in two.into_iter().chain([waits]) {
        assert_ended(&run.finish(SOON), 0, "");
    }
    assert_eq!(inside(&scene).len(), 3);
}

#[test]
fn command_with_all_permits_is_alone() {
    let scene = Scene::new();
    let words = ["run", "report", "--permits", "3"];
    let writer = scene.start(scene.dlock([&words[..], &["--all", "-c", STAYS]].concat()));
    until("the writer", || (inside(&scene).len() == 1).then_some(()));
    let refused = scene.finish([&words[..], &["-n", "-c", "true"]].concat());
    assert_ended(&refused, 75, "each of the 3 permits of \"report\" is taken");
    fs::write(scene.path("go"), "").unwrap();
    assert_ended(&writer.finish(SOON), 0, "");
    assert_ended(
        &scene.finish([&words[..], &["-n", "-c", "true"]].concat()),
        0,
        "",
    );
    let script = r#"printf %s "$DLOCK_TOKENS""#;
    let alone = scene.finish([&words[..], &["--all", "-c", script]].concat());
    let names: Vec<_> = alone
        .out
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    assert_eq!(
        names.iter().map(|(_, name)| *name).collect::<Vec<_>>(),
        ["report/1", "report/2", "report/3"]
    );
}

#[test]
fn run_inside_of_all_permits_is_refused_and_inside_of_some_is_not() {
    let scene = Scene::new();
    let inner = |outer: &[&str], inner: &str| {
        let script = format!(r#""$DLOCK" run crawler {inner} -c true"#);
        scene.finish([&["run", "crawler"], outer, &["-c", &script]].concat())
    };
    let around = "is held by a 'dlock' around this command";
    assert_ended(&inner(&["--permits", "1"], "--permits 1"), 75, around);
    assert_ended(
        &inner(&["--permits", "2", "--all"], "--permits 2"),
        75,
        around,
    );
    assert_ended(&inner(&["--permits", "2"], "--permits 2 --all"), 75, around);
    assert_ended(&inner(&["--permits", "2"], "--permits 2"), 0, "");
}

#[test]
fn permits_are_of_one_name_and_not_too_many() {
    let scene = Scene::new();
    let refused = |words: &[&str], why: &str| {
        let words = [&["run"], words, &["-c", "true"]].concat();
        assert_ended(&scene.finish(words), 64, why);
    };
    refused(
        &["a", "b", "--permits", "2"],
        "--permits goes with one name",
    );
    refused(
        &["a", "b", "--permits", "2", "--all"],
        "--permits goes with one name",
    );
    refused(&["a", "--permits", "65"], "1..=64");
    refused(&["a", "--permits", "0"], "1..=64");
    refused(&["a", "--all"], "--permits");
}
