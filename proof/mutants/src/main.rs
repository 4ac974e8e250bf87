//! Writes the copy of the workspace that contains the bugs of `mutants.toml`, and says where it is; or
//! plays the changes that `cargo mutants` lists.
//!
//! `dlock-mutants [FOLDER]`, `dlock-mutants operators [FOLDER]`

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
    let mut words = env::args_os().skip(1).peekable();
    let operators = words.next_if(|word| word == "operators").is_some();
    let folder = words.next().map(PathBuf::from);
    if operators {
        let folder = folder.unwrap_or_else(|| workspace.join("target/operators"));
        return play_operators(&workspace, &folder);
    }
    let folder = folder.unwrap_or_else(|| workspace.join("target/mutants"));
    write_copy(&workspace, &folder, &Mutants::listed())?;
    println!("{}", folder.display());
    Ok(())
}

fn play_operators(workspace: &Path, folder: &Path) -> Result<(), Box<dyn Error>> {
    let tally = operators::play(workspace, folder)?;
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
    println!("figures: {figures}");
    if tally.complaints.is_empty() {
        return Ok(());
    }
    Err(tally.complaints.join("\n").into())
}
