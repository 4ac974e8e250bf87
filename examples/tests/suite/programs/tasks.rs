//! Other workers do the tasks of a killed worker and of a paused one, and each task leaves one result.

use std::process::{Command, Stdio};

#[test]
fn tasks_of_lost_workers_are_done_by_others_once() {
    let output = Command::new(env!("CARGO_BIN_EXE_tasks"))
        .args(["--lease", "6", "--every", "0.5", "--longest", "3"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
    let line = |text: &str| {
        let found = printed.lines().find(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("no {text:?} in {printed}"))
    };
    // "== a is killed, 2.3s before the end of its lease on task 1"
    let seconds = |line: &str| -> f64 {
        let words = line
            .split([' ', ','])
            .filter_map(|word| word.strip_suffix('s'));
        words.filter_map(|word| word.parse().ok()).next().unwrap()
    };
    let left = seconds(line("== a is killed"));
    let after = seconds(line("after that"));
    // Both are rounded to a tenth.
    assert!(
        after + 0.15 >= left,
        "taken {after} s after the kill, {left} s before its time"
    );
    let stood = line("== b is paused");
    let rest = &printed[printed.find(stood).unwrap()..];
    assert!(rest.contains("b: abandons task"), "{printed}");
    assert!(
        rest.contains("b: could not complete it any more: the claim of task"),
        "{printed}"
    );
    let results = line(" results of ");
    let words: Vec<&str> = results.split_whitespace().collect();
    assert_eq!(words[1], words[4], "{results}");
}
