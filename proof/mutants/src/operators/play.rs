//! Plays every change in processes of their own: some never end.

use std::{
    collections::BTreeMap,
    error::Error,
    io::Read,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

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
const LIMIT: Duration = Duration::from_secs(180);

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

/// Builds what plays them, and plays them all, as many at a time as there are processors.
pub(super) fn all(copy: &Path, operators: &[&Operator]) -> Result<Vec<End>, Box<dyn Error>> {
    for build in [
        &["build", "--package", "dlock-mutants", "--example", "matrix"][..],
        &["test", "--package", "dlock-core", "--lib", "--no-run"],
    ] {
        let built = cargo(copy)
            .args(build)
            .args(["--locked", "--quiet"])
            .status()?;
        if !built.success() {
            return Err(format!("`cargo {}` failed in the copy", build.join(" ")).into());
        }
    }
    let cases = Cases::default();
    // Without a change everything passes.
    if let end @ (End::Noticed | End::Hung) = one(copy, None, &cases)? {
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
            let end = one(copy, Some(number), &cases).map_err(|error| error.to_string())?;
            if end == End::Alive {
                eprintln!("alive: {}", operators[number].name);
            }
            played.push((number, end));
        }
    };
    let mut played: Vec<(usize, End)> = thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
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

/// The frontend's cases, the cancellation harness and some seeds of the simulation; then the unit tests.
fn one(copy: &Path, number: Option<usize>, cases: &Cases) -> Result<End, Box<dyn Error>> {
    let mut checks = Command::new(copy.join("target/debug/examples/matrix"));
    let mut units = cargo(copy);
    units.args([
        "test",
        "--locked",
        "--quiet",
        "--package",
        "dlock-core",
        "--lib",
    ]);
    checks.arg("noticed").args(cases.in_order());
    for command in [&mut checks, &mut units] {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command.env_remove("DLOCK_PLANT");
        if let Some(number) = number {
            command.env("DLOCK_PLANT", number.to_string());
        }
        let mut child = command.spawn()?;
        let said = child.stdout.take();
        match ended(&mut child)? {
            None => return Ok(End::Hung),
            Some(status) if status.success() => {}
            Some(_) => {
                let mut text = String::new();
                if let Some(mut said) = said {
                    said.read_to_string(&mut text)?;
                }
                if let Some(case) = text.trim().strip_prefix("case ") {
                    cases.noticed(case);
                }
                return Ok(End::Noticed);
            }
        }
    }
    Ok(End::Alive)
}

fn cargo(copy: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(copy).env_remove("CARGO_TARGET_DIR");
    // It is built once and runs for long.
    cargo
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    cargo
}

/// How it ended, if it did in time.
fn ended(child: &mut Child) -> Result<Option<ExitStatus>, Box<dyn Error>> {
    #[expect(
        clippy::disallowed_methods,
        reason = "measures the machine, not a lease"
    )]
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}
