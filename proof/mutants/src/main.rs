//! Writes the copy of the workspace that contains the bugs of `mutants.toml`, and says where it is.

use std::{env, error::Error, path::Path, process::ExitCode};

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
    let folder = match env::args_os().nth(1) {
        Some(folder) => folder.into(),
        None => workspace.join("target/mutants"),
    };
    write_copy(&workspace, &folder, &Mutants::listed())?;
    println!("{}", folder.display());
    Ok(())
}
