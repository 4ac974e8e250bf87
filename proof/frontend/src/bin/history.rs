//! Checks a kept history again, and draws it: `history check FILE... [--svg OUT]`.
//!
//! Exit code 0: nothing is broken. 1: something is. 2: the history could not be checked.

use std::{ffi::OsString, fs, path::PathBuf, process::ExitCode};

use dlock_proof::history::{checker::check, picture, read, read_all};

const USAGE: &str = "usage: history check FILE... [--svg OUT]

Reads a history (or the files that the processes of one run wrote), prints what it holds and what is
broken in it, and draws the time around the first violation into OUT.
Exit code 0: nothing is broken; 1: something is; 2: the history could not be checked.";

struct Arguments {
    files: Vec<PathBuf>,
    svg: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments
        .iter()
        .any(|argument| argument == "--help" || argument == "-h")
    {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let Some(arguments) = parse(arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&arguments) {
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

fn parse(arguments: Vec<OsString>) -> Option<Arguments> {
    let mut arguments = arguments.into_iter();
    if arguments.next()? != "check" {
        return None;
    }
    let (mut files, mut svg) = (Vec::new(), None);
    while let Some(argument) = arguments.next() {
        if argument == "--svg" {
            svg = Some(arguments.next()?.into());
        } else if argument.to_str().is_some_and(|text| text.starts_with('-')) {
            return None;
        } else {
            files.push(argument.into());
        }
    }
    (!files.is_empty()).then_some(Arguments { files, svg })
}

/// Whether nothing is broken.
fn run(Arguments { files, svg }: &Arguments) -> Result<bool, Box<dyn std::error::Error>> {
    let lines = match files.as_slice() {
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
    if let Some(path) = svg {
        let picture = picture(&lines, &report).ok_or("there is no header line, so no picture")?;
        fs::write(path, picture)?;
        println!("\npicture: {}", path.display());
    }
    Ok(report.is_clean())
}
