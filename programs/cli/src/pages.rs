//! The files that packages install in addition to the program, made from its own help: completions for shells,
//! and pages for man(1).

use std::process::ExitCode;

use clap::Command;

use crate::{
    arguments::{CompletionsArguments, ManArguments},
    exit::{Exit, Failure},
    output,
};

/// Runs `dlock completions`.
pub(crate) fn completions(
    mut command: Command,
    arguments: &CompletionsArguments,
) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "dlock", &mut script);
    output::write(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `dlock man`.
pub(crate) fn man(command: Command, arguments: &ManArguments) -> Result<ExitCode, Failure> {
    let folder = &arguments.folder;
    clap_mangen::generate_to(command, folder).map_err(|error| {
        let what = format!("can't write the pages into {}", folder.display());
        Failure::new(Exit::Output, what).because(error)
    })?;
    output::done(format_args!("the pages are in {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
