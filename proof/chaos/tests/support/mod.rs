//! Runs of the program.

use std::process::{Command, Output, Stdio};

/// The program.
pub(crate) fn chaos() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dlock-chaos"))
}

/// Runs the program, which ends with this process; its output is the output of the test.
pub(crate) fn run(command: &mut Command) -> Output {
    let child = command
        .arg("--tethered")
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

/// A run that could judge enough finds nothing. Whether it could judge enough depends on chance and on the machine: a
/// run that judged too little found nothing either, and another run follows, three at most. A run that has found
/// something is never repeated.
#[cfg(any(
    feature = "dynamodb",
    feature = "etcd",
    feature = "postgres",
    feature = "redis",
    feature = "sqlite"
))]
pub(crate) fn finds_nothing(store: &str, chaos: impl Fn() -> Output) {
    use std::io::{Write as _, stderr};

    const RUNS: usize = 3;
    for run in 1..=RUNS {
        let output = chaos();
        if output.status.success() {
            return;
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(
            printed.contains("verdict: the run proves nothing"),
            "{store}: {}",
            output.status
        );
        // Bypasses the test harness, which hides the output of a passing test.
        let lacks = printed.lines().filter(|line| line.starts_with("TOOTHLESS"));
        let lacks: Vec<&str> = lacks.collect();
        let _unreported = writeln!(
            stderr(),
            "{store}: run {run} of at most {RUNS} proves nothing: {}",
            lacks.join("; ")
        );
    }
    panic!("{store}: {RUNS} runs prove nothing");
}
