//! Plays every change in processes of their own: some never end.

use std::{
    collections::BTreeMap,
    error::Error,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde::Deserialize;

use super::Operator;

/// What became of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A test failed.
    Noticed,
    /// A test did not end.
    Hung,
    /// Every test passed.
    Alive,
}

/// For how long all checks of one change may take. Those of the right code take some seconds.
const LIMIT: Duration = Duration::from_secs(100);

/// How often each case of the frontend has noticed a change: those that notice the most come first.
#[derive(Default)]
struct Cases(Mutex<BTreeMap<String, usize>>);

impl Cases {
    fn noticed(&self, case: &str) {
        let mut cases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *cases.entry(case.to_owned()).or_default() += 1;
    }

    fn in_order(&self) -> Vec<String> {
        let cases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut order: Vec<_> = cases.iter().map(|(case, times)| (*times, case)).collect();
        order.sort_unstable_by(|one, other| other.cmp(one));
        order.into_iter().map(|(_, case)| case.clone()).collect()
    }
}

/// The programs that may notice a change.
struct Checks {
    /// The cases of the frontend, the cancellation harness and some seeds of the simulation.
    matrix: PathBuf,
    /// Test programs, each with the folder that it runs in.
    tests: Vec<(PathBuf, PathBuf)>,
    cases: Cases,
}

/// What `cargo test --no-run --message-format json` says of one thing that it built.
#[derive(Deserialize)]
struct Built {
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    profile: Option<Profile>,
}

/// What it was built for. Tests have their package's programs built, too.
#[derive(Deserialize)]
struct Profile {
    test: bool,
}

impl Checks {
    fn build(copy: &Path) -> Result<Self, Box<dyn Error>> {
        build(
            copy,
            &["build", "--package", "dlock-mutants", "--example", "matrix"],
        )?;
        let mut tests = Vec::new();
        for (package, which) in [
            ("dlock-core", &["--lib", "--test", "settings"][..]),
            ("dlock-proof", &["--test", "own", "--test", "alone"]),
        ] {
            let test = [
                "test",
                "--package",
                package,
                "--no-run",
                "--message-format",
                "json",
            ];
            for line in build(copy, &[&test, which].concat())?.lines() {
                let built: Built = serde_json::from_str(line)?;
                if let (Some(program), Some(manifest), Some(Profile { test: true })) =
                    (built.executable, built.manifest_path, built.profile)
                {
                    let folder = manifest.parent().unwrap_or(copy).to_owned();
                    tests.push((program, folder));
                }
            }
        }
        Ok(Self {
            matrix: copy.join("target/debug/examples/matrix"),
            tests,
            cases: Cases::default(),
        })
    }

    /// All checks of one change, until one fails.
    fn play(&self, number: Option<usize>) -> Result<End, Box<dyn Error>> {
        let mut matrix = Command::new(&self.matrix);
        matrix.arg("noticed").args(self.cases.in_order());
        let (status, said) = ended(matrix.stdout(Stdio::piped()), number)?;
        if let Some(case) = said.trim().strip_prefix("case ") {
            self.cases.noticed(case);
        }
        let mut end = End::of(status);
        for (program, folder) in &self.tests {
            if end == End::Alive {
                let mut test = Command::new(program);
                // The matrix has played the harness already.
                test.args(["--quiet", "--skip", "cancelling"])
                    .current_dir(folder);
                end = End::of(ended(test.stdout(Stdio::null()), number)?.0);
            }
        }
        Ok(end)
    }
}

impl End {
    fn of(status: Option<ExitStatus>) -> Self {
        match status {
            None => Self::Hung,
            Some(status) if status.success() => Self::Alive,
            Some(_) => Self::Noticed,
        }
    }
}

/// Builds what plays them, and plays them all, two at a time for each processor.
pub(super) fn all(copy: &Path, operators: &[&Operator]) -> Result<Vec<End>, Box<dyn Error>> {
    let checks = Checks::build(copy)?;
    // Without a change everything passes.
    if let end @ (End::Noticed | End::Hung) = checks.play(None)? {
        return Err(format!("the checks fail without a change: {end:?}").into());
    }
    let next = AtomicUsize::new(0);
    let worker = || -> Result<_, String> {
        let mut played = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= operators.len() {
                return Ok(played);
            }
            if number.is_multiple_of(100) {
                eprintln!("{number} of {} played", operators.len());
            }
            let end = checks
                .play(Some(number))
                .map_err(|error| error.to_string())?;
            if end == End::Alive {
                eprintln!("alive: {}", operators[number].name);
            }
            played.push((number, end));
        }
    };
    let mut played: Vec<(usize, End)> = thread::scope(|scope| {
        // Many of those that never end wait for something, and need no processor.
        let workers = 2 * thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(
                worker
                    .join()
                    .map_err(|_| "a thread has panicked".to_owned())??,
            );
        }
        Ok::<_, String>(all)
    })?;
    played.sort_unstable_by_key(|(number, _)| *number);
    Ok(played.into_iter().map(|(_, end)| end).collect())
}

/// Runs `cargo` in the copy; what it printed.
fn build(copy: &Path, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let built = Command::new("cargo")
        .args(arguments)
        .args(["--locked", "--quiet"])
        .current_dir(copy)
        .env_remove("CARGO_TARGET_DIR")
        // It is built once and runs for long.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .stderr(Stdio::inherit())
        .output()?;
    if !built.status.success() {
        return Err(format!("`cargo {}` failed in the copy", arguments.join(" ")).into());
    }
    Ok(String::from_utf8(built.stdout)?)
}

/// Runs a command with a change switched on: how it ended, if it did in time, and the little that it printed.
fn ended(
    command: &mut Command,
    number: Option<usize>,
) -> Result<(Option<ExitStatus>, String), Box<dyn Error>> {
    command.env_remove("DLOCK_PLANT");
    if let Some(number) = number {
        command.env("DLOCK_PLANT", number.to_string());
    }
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
    #[expect(
        clippy::disallowed_methods,
        reason = "measures the machine, not a lease"
    )]
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if began.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            break None;
        }
        thread::sleep(Duration::from_millis(20));
    };
    let mut said = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut said)?;
    }
    Ok((status, said))
}
