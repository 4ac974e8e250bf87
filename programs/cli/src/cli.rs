//! The command line.

use std::{io::Write, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand};
use dlock_stores::text::without_credentials;
use tracing_subscriber::{
    EnvFilter, Layer, filter::filter_fn, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::{
    arguments::{
        AcquireArguments, AskArguments, BenchArguments, CompletionsArguments, DoctorArguments,
        ElectArguments, GiveBackArguments, HoldArguments, ManArguments, PurgeArguments,
        ReleaseArguments, RenewArguments, RunArguments, SetupArguments, StatusArguments,
        TasksArguments, WatchArguments,
    },
    ask, bench, doctor,
    exit::{self, Exit, Failure, say},
    output, pages, purge, release, setup, status, tasks,
    tickets::{give_back, renew},
    watch,
};

/// Run a command while holding a distributed lock, or while leading; look at locks, and free them.
#[derive(Debug, Parser)]
#[command(
    name = "dlock",
    version,
    arg_required_else_help = true,
    after_help = "Try 'dlock run --help' and 'dlock elect --help' for examples and exit codes."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print only errors: not the holder of the lock, neither while waiting for it nor when it cannot be acquired (the
    /// exit code says so), and not what was done
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Wait for a lock, run a command under it, and give it back
    #[command(long_about = include_str!("help/run.txt"), after_long_help = include_str!("help/run-more.txt"))]
    Run(RunArguments),
    /// Hold a lock without a command, until a signal or the end of its lease
    #[command(long_about = include_str!("help/hold.txt"))]
    Hold(HoldArguments),
    /// Take a lock and print a ticket for it, for scripts
    #[command(long_about = include_str!("help/acquire.txt"))]
    Acquire(AcquireArguments),
    /// Extend the lease of a ticket
    #[command(long_about = include_str!("help/renew.txt"))]
    Renew(RenewArguments),
    /// Give the lease of a ticket back
    #[command(long_about = include_str!("help/give-back.txt"))]
    GiveBack(GiveBackArguments),
    /// Elect one leader, and run a command on it
    #[command(long_about = include_str!("help/elect.txt"), after_long_help = include_str!("help/elect-more.txt"))]
    Elect(ElectArguments),
    /// Show who holds which lock
    #[command(long_about = include_str!("help/status.txt"))]
    Status(StatusArguments),
    /// Print the changes of a lock, line by line
    #[command(long_about = include_str!("help/watch.txt"))]
    Watch(WatchArguments),
    /// Ask the holder of a lock to give it back
    #[command(long_about = include_str!("help/ask.txt"))]
    Ask(AskArguments),
    /// Free a lock that its holder does not give back
    #[command(long_about = include_str!("help/release.txt"))]
    Release(ReleaseArguments),
    /// Delete the records of locks that have not been used for a week
    #[command(long_about = include_str!("help/purge.txt"))]
    Purge(PurgeArguments),
    /// Create what a store needs before there can be locks
    #[command(long_about = setup_help())]
    Setup(SetupArguments),
    /// Check whether a store is fit for locks, and say what to do
    #[command(long_about = include_str!("help/doctor.txt"))]
    Doctor(DoctorArguments),
    /// Measure how fast a store is for locks, and recommend a lease
    #[command(long_about = include_str!("help/bench.txt"))]
    Bench(BenchArguments),
    /// Look at the tasks of a queue, add, cancel and retry them
    #[command(long_about = include_str!("help/tasks.txt"))]
    Tasks(TasksArguments),
    /// Print a script that completes commands and options in a shell
    #[command(long_about = include_str!("help/completions.txt"))]
    Completions(CompletionsArguments),
    /// Write pages for man(1) into a folder
    #[command(long_about = include_str!("help/man.txt"))]
    Man(ManArguments),
}

fn setup_help() -> String {
    let (head, tail) = (
        include_str!("help/setup.txt"),
        include_str!("help/setup-more.txt"),
    );
    format!("{head}{}{tail}", dlock_stores::settings())
}

/// Runs what this process's arguments say.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain(&error).unwrap_or_else(|failure| failure.report()),
    };
    log();
    if cli.quiet {
        exit::be_quiet();
    }
    let done = match cli.command {
        Command::Run(arguments) => run(arguments),
        Command::Hold(arguments) => hold(&arguments),
        Command::Acquire(arguments) => acquire(&arguments),
        Command::Renew(arguments) => renew::main(&arguments),
        Command::GiveBack(arguments) => give_back::main(&arguments),
        Command::Elect(arguments) => elect(arguments),
        Command::Status(arguments) => status::main(&arguments),
        Command::Watch(arguments) => watch::main(&arguments),
        Command::Ask(arguments) => ask::main(&arguments),
        Command::Release(arguments) => release::main(&arguments),
        Command::Purge(arguments) => purge::main(&arguments),
        Command::Setup(arguments) => setup::main(&arguments),
        Command::Doctor(arguments) => doctor::main(&arguments),
        Command::Bench(arguments) => bench::main(&arguments),
        Command::Tasks(arguments) => tasks::main(&arguments),
        Command::Completions(arguments) => pages::completions(Cli::command(), &arguments),
        Command::Man(arguments) => pages::man(Cli::command(), &arguments),
    };
    done.unwrap_or_else(|failure| failure.report())
}

/// The error in the command line, or the help that was asked for.
fn explain(error: &clap::Error) -> Result<ExitCode, Failure> {
    let text = error.render().to_string();
    if error.use_stderr() {
        // If it can't be printed, no reader is left. It may repeat a word that was meant as the value of --store.
        let text = without_credentials(&text);
        drop(std::io::stderr().write_all(text.as_bytes()));
        Ok(Exit::Usage.into())
    } else {
        output::write(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(unix)]
fn run(arguments: RunArguments) -> Result<ExitCode, Failure> {
    crate::run::main(arguments)
}

#[cfg(unix)]
fn elect(arguments: ElectArguments) -> Result<ExitCode, Failure> {
    crate::elect::main(arguments)
}

#[cfg(unix)]
fn hold(arguments: &HoldArguments) -> Result<ExitCode, Failure> {
    crate::hold::main(arguments)
}

#[cfg(unix)]
fn acquire(arguments: &AcquireArguments) -> Result<ExitCode, Failure> {
    crate::tickets::acquire::main(arguments)
}

#[cfg(not(unix))]
fn hold(_arguments: &HoldArguments) -> Result<ExitCode, Failure> {
    Err(no_groups("dlock hold"))
}

#[cfg(not(unix))]
fn acquire(_arguments: &AcquireArguments) -> Result<ExitCode, Failure> {
    Err(no_groups("dlock acquire"))
}

#[cfg(not(unix))]
fn run(_arguments: RunArguments) -> Result<ExitCode, Failure> {
    Err(no_groups("dlock run"))
}

#[cfg(not(unix))]
fn elect(_arguments: ElectArguments) -> Result<ExitCode, Failure> {
    Err(no_groups("dlock elect"))
}

#[cfg(not(unix))]
fn no_groups(program: &str) -> Failure {
    let why = "needs process groups and signals, and this system has none";
    Failure::new(Exit::Usage, format!("'{program}' {why}"))
}

/// Logs the reports of the core and its stores, if `DLOCK_LOG` asks for them, and nothing of other libraries: those
/// that talk to servers log whole requests.
fn log() {
    let Ok(wanted) = std::env::var("DLOCK_LOG") else {
        return;
    };
    match EnvFilter::try_new(&wanted) {
        Ok(filter) => {
            let ours = filter_fn(|metadata| metadata.target().starts_with("dlock"));
            let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
            tracing_subscriber::registry()
                .with(lines.with_filter(ours))
                .with(filter)
                .init();
        }
        Err(error) => say(format_args!("DLOCK_LOG={wanted:?} is ignored: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn everything_after_two_dashes_is_the_command() {
        let cli =
            Cli::try_parse_from(["dlock", "run", "n", "--", "sh", "--help", "--", "-c"]).unwrap();
        let Command::Run(RunArguments { names, command, .. }) = cli.command else {
            panic!("not run")
        };
        assert_eq!(
            (names, command),
            (
                vec!["n".to_owned()],
                vec!["sh".into(), "--help".into(), "--".into(), "-c".into()]
            )
        );
        assert!(Cli::try_parse_from(["dlock", "run", "n"]).is_err());
        assert!(Cli::try_parse_from(["dlock", "run", "n", "--"]).is_err());
    }

    #[test]
    fn everything_after_exec_is_the_command() {
        let words = [
            "dlock", "elect", "n", "--lease", "3s", "--exec", "sh", "-c", "x", "--", "--lease",
        ];
        let cli = Cli::try_parse_from(words).unwrap();
        let Command::Elect(ElectArguments { lease, exec, .. }) = cli.command else {
            panic!("not elect")
        };
        assert_eq!(
            (lease, exec),
            (
                Duration::from_secs(3),
                words[6..].iter().map(Into::into).collect()
            )
        );
        assert!(Cli::try_parse_from(["dlock", "elect", "n", "--exec"]).is_err());
        assert!(Cli::try_parse_from(["dlock", "elect", "n", "--resign", "--", "x"]).is_err());
        assert!(Cli::try_parse_from(["dlock", "elect", "n", "--resign", "--exec", "x"]).is_err());
    }
}
