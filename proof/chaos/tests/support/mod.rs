//! Runs of the program.

use std::process::{Command, Output, Stdio};

/// The program.
pub(crate) fn chaos() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dlock-chaos"))
}

/// Runs the program, which ends with this process; what it printed is the test's output.
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

/// Nothing is found by a run that much can be judged of. How much that is, chance and the machine decide: where it was too
/// little, nothing was found either, and another run follows, three at most. One that has found something is never
/// repeated.
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
        // Past the harness, which keeps back what a passing test prints.
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
