//! Runs the commands of a part.

use std::{
    error::Error,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Instant, SystemTime},
};

use serde_json::Value;

use crate::{Kept, Part};

/// What a line of figures begins with.
const MARK: &str = "figures: ";

/// What a run writes, and a run may follow: not a change of the code.
const WRITTEN: [&str; 3] = [
    ":!proof/figures/data",
    ":!RELIABILITY.md",
    ":!proof/model/README.md",
];

/// Runs the commands of a part and keeps their figures.
///
/// # Errors
/// The sources are not those of a commit; a command fails, or prints no figures.
#[expect(
    clippy::disallowed_methods,
    reason = "says when and for how long, and decides nothing"
)]
pub fn repeat(workspace: &Path, part: &Part) -> Result<(), Box<dyn Error>> {
    let status = [&["status", "--porcelain", "--", "."][..], &WRITTEN].concat();
    let changed = git(workspace, &status)?;
    if !changed.is_empty() {
        return Err(
            format!("figures are those of a commit; commit these first:\n{changed}").into(),
        );
    }
    let commit = git(workspace, &["rev-parse", "--short=12", "HEAD"])?;
    let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let began = Instant::now();
    let figures = if part.at_once {
        thread::scope(|scope| {
            let runs: Vec<_> = (part.commands.iter())
                .map(|command| scope.spawn(|| run(workspace, command)))
                .collect();
            let ended = runs.into_iter().map(thread::ScopedJoinHandle::join);
            ended
                .map(|ended| ended.unwrap_or_else(|_| Err("a thread has panicked".to_owned())))
                .collect::<Result<Vec<_>, _>>()
        })
    } else {
        (part.commands.iter().map(|command| run(workspace, command))).collect()
    }?;
    let kept = Kept {
        commit,
        date: date.chars().take("2000-01-01".len()).collect(),
        minutes: began.elapsed().as_secs().div_ceil(60),
        figures: figures.concat(),
    };
    kept.write(workspace, part)
}

/// Shows what a command prints, and returns its figures.
fn run(workspace: &Path, command: &str) -> Result<Vec<Value>, String> {
    let failed = |what: &dyn std::fmt::Display| format!("`{command}`: {what}");
    eprintln!("== {command}");
    let mut child = Command::new("bash")
        .args(["-c", command])
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    let mut figures = Vec::new();
    for line in child
        .stdout
        .take()
        .into_iter()
        .flat_map(|out| BufReader::new(out).lines())
    {
        let line = line.map_err(|error| failed(&error))?;
        println!("{line}");
        // libtest begins a line with the name of the test, and goes on when it has ended.
        if let Some((_, json)) = line.split_once(MARK) {
            figures.push(serde_json::from_str(json).map_err(|error| failed(&error))?);
        }
    }
    let status = child.wait().map_err(|error| failed(&error))?;
    if !status.success() {
        return Err(failed(&status));
    }
    if figures.is_empty() {
        return Err(failed(&"prints no figures"));
    }
    Ok(figures)
}

fn git(workspace: &Path, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let git = Command::new("git")
        .args(arguments)
        .current_dir(workspace)
        .output()?;
    if !git.status.success() {
        return Err(format!(
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&git.stderr)
        )
        .into());
    }
    Ok(String::from_utf8(git.stdout)?.trim().to_owned())
}
