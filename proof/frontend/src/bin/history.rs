//! Checks a kept history again: `history check FILE...`.
//!
//! Exit code 0: nothing is broken. 1: something is. 2: the history could not be checked.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use dlock_proof::history::{checker::check, read, read_all};

const USAGE: &str = "usage: history check FILE...

Reads a history (or the files that the processes of one run wrote), prints what it holds and what is
broken in it.
Exit code 0: nothing is broken; 1: something is; 2: the history could not be checked.";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments
        .iter()
        .any(|argument| argument == "--help" || argument == "-h")
    {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let Some(files) = files(arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&files) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprint!("error: {error}");
            let mut source = error.source();
            while let Some(error) = source {
                eprint!(": {error}");
                source = error.source();
            }
            eprintln!();
            ExitCode::from(2)
        }
    }
}

fn files(arguments: Vec<OsString>) -> Option<Vec<PathBuf>> {
    let mut arguments = arguments.into_iter();
    if arguments.next()? != "check" {
        return None;
    }
    let files: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let is_option = |file: &PathBuf| file.to_str().is_some_and(|text| text.starts_with('-'));
    (!files.is_empty() && !files.iter().any(is_option)).then_some(files)
}

/// Whether nothing is broken.
fn run(files: &[PathBuf]) -> Result<bool, Box<dyn std::error::Error>> {
    let lines = match files {
        // In the file's order, so that the numbers of its lines are those of the report.
        [file] => read(file)?,
        files => read_all(files)?,
    };
    let report = check(&lines);
    println!("{report}");
    for violation in report.violations.iter().take(3) {
        println!("\n{violation}");
        for line in violation.lines.iter().filter_map(|line| lines.get(*line)) {
            println!("  {line}");
        }
    }
    Ok(report.is_clean())
}
