//! The command line.

use std::{ffi::OsString, process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};

use crate::{
    exit::{Exit, Failure, say},
    status,
    store::Location,
};

/// Run a command while holding a distributed lock, or look at locks.
#[derive(Debug, Parser)]
#[command(
    name = "dlock",
    version,
    arg_required_else_help = true,
    after_help = "Try 'dlock run --help' for examples and exit codes."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Wait for a lock, run a command under it, and give it back
    #[command(long_about = include_str!("help/run.txt"), after_long_help = include_str!("help/run-more.txt"))]
    Run(RunArguments),
    /// Show who holds which lock
    #[command(long_about = include_str!("help/status.txt"))]
    Status(StatusArguments),
}

/// Arguments of `dlock run`.
#[derive(Debug, Args)]
#[cfg_attr(not(unix), expect(dead_code, reason = "commands run on Unix only"))]
pub(crate) struct RunArguments {
    /// The lock: 1 to 1024 bytes of UTF-8; everybody who uses one name and one store excludes each other
    pub(crate) name: String,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// Don't wait: if somebody else has the lock, exit with code 75 at once
    #[arg(long, conflicts_with = "wait")]
    pub(crate) no_wait: bool,
    /// Wait at most this long (500ms, 30s, 5m, 1h), then exit with code 75 [default: as long as it takes]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) wait: Option<Duration>,
    /// How long others wait if this machine dies: the lock is renewed every third of it, 100ms to 24h
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "15s")]
    pub(crate) lease: Duration,
    /// If the lease can't be renewed: how long before its end the command gets TERM; it gets KILL at the end.
    /// At most a quarter of the lease [default: 2s or a quarter of the lease, whichever is less]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) grace: Option<Duration>,
    /// A label that others see while they wait [default: host:pid]
    #[arg(long, value_name = "LABEL")]
    pub(crate) owner: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Only this lock
    pub(crate) name: Option<String>,
    /// For programs: a JSON array, or one object if a name is given
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

const STORE_HELP: &str = "Where the locks are: sqlite:PATH, a file on a local disk, made when it is \
    first used [default: dlock/locks.db in this user's state directory, $XDG_STATE_HOME or ~/.local/state]";

/// Which store.
#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    // Help, not a doc comment: those want variables in backticks.
    #[arg(help = STORE_HELP, long,
        value_name = "STORE",
        env = "DLOCK_STORE",
        hide_env_values = true
    )]
    store: Option<OsString>,
}

impl StoreArguments {
    pub(crate) fn location(&self) -> Result<Location, Failure> {
        Location::new(self.store.as_deref())
    }
}

/// Does what this process's arguments say.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody is left to tell when it can't be printed.
            drop(error.print());
            return if error.use_stderr() {
                Exit::Usage.into()
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    log();
    let done = match cli.command {
        Command::Run(arguments) => run(arguments),
        Command::Status(arguments) => status::main(&arguments),
    };
    done.unwrap_or_else(|failure| failure.report())
}

#[cfg(unix)]
fn run(arguments: RunArguments) -> Result<ExitCode, Failure> {
    crate::run::main(arguments)
}

#[cfg(not(unix))]
fn run(_arguments: RunArguments) -> Result<ExitCode, Failure> {
    Err(Failure::new(
        Exit::Usage,
        "'dlock run' needs process groups and signals, and this system has none",
    ))
}

/// What the core reports, for whoever looks for the reason of something: nothing unless asked.
fn log() {
    let Ok(wanted) = std::env::var("DLOCK_LOG") else {
        return;
    };
    match tracing_subscriber::EnvFilter::try_new(&wanted) {
        Ok(filter) => tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .init(),
        Err(error) => say(format_args!("DLOCK_LOG={wanted:?} is ignored: {error}")),
    }
}

fn time(text: &str) -> Result<Duration, humantime::DurationError> {
    humantime::parse_duration(text)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_are_a_number_and_a_unit() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("0s", 0),
        ] {
            assert_eq!(
                time(text).unwrap(),
                Duration::from_millis(milliseconds),
                "{text}"
            );
        }
        for text in [
            "",
            "30",
            "s",
            "-1s",
            "1.s",
            "1e9s",
            "99999999999999999999s",
            "1 year of mine",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn everything_after_two_dashes_is_the_command() {
        let cli =
            Cli::try_parse_from(["dlock", "run", "n", "--", "sh", "--help", "--", "-c"]).unwrap();
        let Command::Run(RunArguments { name, command, .. }) = cli.command else {
            panic!("not run")
        };
        assert_eq!(
            (name.as_str(), command),
            (
                "n",
                vec!["sh".into(), "--help".into(), "--".into(), "-c".into()]
            )
        );
        assert!(Cli::try_parse_from(["dlock", "run", "n"]).is_err());
        assert!(Cli::try_parse_from(["dlock", "run", "n", "--"]).is_err());
    }
}
