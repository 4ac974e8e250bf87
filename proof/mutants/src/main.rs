//! Writes the copy of the workspace that contains the bugs of `mutants.toml` and `tasks.toml`, and prints its path.
//!
//! `dlock-mutants [FOLDER]`

use std::{
    env,
    error::Error,
    path::{Path, PathBuf},
    process::ExitCode,
};

use dlock_mutants::{Mutants, write_copy};

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
    let folder = env::args().nth(1).map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| workspace.join("target/mutants"));
    write_copy(&workspace, &folder, &Mutants::listed())?;
    println!("{}", folder.display());
    Ok(())
}
