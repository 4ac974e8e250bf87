//! The program `dlock-server`: arguments and configuration, the store, signals, the log.
//!
//! | module | |
//! |---|---|
//! | `settings` | the values of arguments, environment and file, and which of them are refused |
//! | `stores` | the locks and the tasks of the store |
//! | `run` | serving, until a signal ends it; a reload |
//! | `signals` | SIGTERM and SIGINT stop, SIGHUP reads tokens and certificates again |
//! | `check` | `dlock-server check`: everything but serving |
//! | `log`, `metrics`, `failure` | reports, and who gets them |

mod arguments;
mod background;
mod check;
mod demo;
mod failure;
mod log;
mod metrics;
mod run;
mod settings;
mod signals;
mod stores;

use std::process::ExitCode;

use clap::Parser;

use self::{
    arguments::{Arguments, Command},
    failure::{Exit, Failure},
    settings::Plan,
};

/// Runs the program with this process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return failure::explain(&error),
    };
    match start(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn start(arguments: Arguments) -> Result<(), Failure> {
    let Arguments {
        settings,
        config,
        command,
    } = arguments;
    let plan = Plan::new(settings.completed(config.as_deref())?)?;
    log::start(plan.log_format);
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure::new(Exit::System, "can't start the runtime").because(&error))?;
    let done = runtime.block_on(async {
        match command {
            Some(Command::Check) => check::check(&plan).await,
            None => run::run(&plan).await,
        }
    });
    // A store call that hangs must not delay the exit.
    runtime.shutdown_background();
    done
}
