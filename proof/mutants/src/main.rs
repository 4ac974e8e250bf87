//! Writes the copy of the workspace that contains the bugs of `mutants.toml`, and says where it is; or
//! plays the changes that `cargo mutants` lists.
//!
//! `dlock-mutants [FOLDER]`, `dlock-mutants operators [FILE]`

use std::{
    env,
    error::Error,
    path::{Path, PathBuf},
    process::ExitCode,
};

use dlock_mutants::{Mutants, operators, write_copy};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let mut words = env::args().skip(1).peekable();
    if words.next_if_eq("operators").is_some() {
        return play_operators(&workspace, words.next().as_deref());
    }
    let folder = words.next().map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| workspace.join("target/mutants"));
    write_copy(&workspace, &folder, &Mutants::listed())?;
    println!("{}", folder.display());
    Ok(())
}

/// All of them, or those of the files whose path contains `only`.
fn play_operators(workspace: &Path, only: Option<&str>) -> Result<(), Box<dyn Error>> {
    let folder = workspace.join("target/operators");
    let tally = operators::play(workspace, &folder, only.unwrap_or_default())?;
    println!(
        "operators: {} listed, {} do not compile; {} noticed ({} of them by never ending), {} alive",
        tally.listed, tally.refused, tally.noticed, tally.hung, tally.alive
    );
    let figures = serde_json::json!({
        "listed": tally.listed,
        "refused": tally.refused,
        "noticed": tally.noticed,
        "hung": tally.hung,
        "alive": tally.alive,
    });
    if only.is_none() {
        println!("figures: {figures}");
    }
    if tally.complaints.is_empty() {
        return Ok(());
    }
    Err(tally.complaints.join("\n").into())
}
