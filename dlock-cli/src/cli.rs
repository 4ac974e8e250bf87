//! The command line.

use std::{env, ffi::OsString, io::Write, process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};

use tracing_subscriber::{
    EnvFilter, Layer, filter::filter_fn, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::{
    display::without_credentials,
    exit::{Exit, Failure, say},
    output, purge, release, setup, status,
    store::{self, Location},
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
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Wait for a lock, run a command under it, and give it back
    #[command(long_about = include_str!("help/run.txt"), after_long_help = include_str!("help/run-more.txt"))]
    Run(RunArguments),
    /// Elect one leader, and run a command on it
    #[command(long_about = include_str!("help/elect.txt"), after_long_help = include_str!("help/elect-more.txt"))]
    Elect(ElectArguments),
    /// Show who holds which lock
    #[command(long_about = include_str!("help/status.txt"))]
    Status(StatusArguments),
    /// Free a lock that its holder does not give back
    #[command(long_about = include_str!("help/release.txt"))]
    Release(ReleaseArguments),
    /// Delete the records of locks that nobody has used for a week
    #[command(long_about = include_str!("help/purge.txt"))]
    Purge(PurgeArguments),
    /// Make what a store needs before there can be locks
    #[command(long_about = include_str!("help/setup.txt"))]
    Setup(SetupArguments),
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
    /// Once per period: keep everybody out for at least this long, however short the command, 100ms to 24h. Choose
    /// more than clocks are apart and less than the period, and --no-wait: a host that waits runs it when the time is over
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) at_least: Option<Duration>,
    /// How long others wait if this machine dies: the lock is renewed every third of it, 100ms to 24h.
    /// A call to the store has a sixth of it, connecting included
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

/// Arguments of `dlock elect`.
#[derive(Debug, Args)]
#[cfg_attr(not(unix), expect(dead_code, reason = "commands run on Unix only"))]
pub(crate) struct ElectArguments {
    /// What to elect a leader for: the name of a lock, the same for everybody who stands
    pub(crate) name: String,
    /// Run this while leading; all that follows is the command and its arguments, so give it last
    #[arg(long, value_name = "COMMAND", num_args = 1.., allow_hyphen_values = true)]
    pub(crate) exec: Vec<OsString>,
    /// Don't stand: ask whoever leads to step down, and end
    #[arg(long, conflicts_with = "exec")]
    pub(crate) resign: bool,
    /// How long others wait if this machine dies: renewed every third of it, 100ms to 24h
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "60s")]
    pub(crate) lease: Duration,
    /// How often to ask, while somebody else leads, besides at the end of its lease and when it steps down: 1ms to 1h
    /// [default: half the lease, at most 1h]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) attempt: Option<Duration>,
    /// When leading ends: how long the command may take after TERM; then it gets KILL. At most a quarter of the lease
    /// [default: 2s or a quarter of the lease, whichever is less]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) grace: Option<Duration>,
    /// What others see as the leader [default: host:pid]
    #[arg(long, value_name = "LABEL")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Only this lock
    pub(crate) name: Option<String>,
    /// Only locks that keep others out now, held or closed ones, and whose names match: * stands for any characters,
    /// ? for one, \ takes the next one as it is [default: all names]
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "*", conflicts_with = "name")]
    pub(crate) held: Option<String>,
    /// For programs: a JSON array, or one object if a name is given
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock release`.
#[derive(Debug, Args)]
pub(crate) struct ReleaseArguments {
    /// The lock
    pub(crate) name: String,
    /// At once, although the holder may still work; also opens a lock that is closed (--at-least)
    #[arg(long)]
    pub(crate) force: bool,
    /// Don't ask
    #[arg(long, short, requires = "force")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock purge`.
#[derive(Debug, Args)]
pub(crate) struct PurgeArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Arguments of `dlock setup`.
#[derive(Debug, Args)]
pub(crate) struct SetupArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

const STORE_HELP: &str = "Where the locks are: sqlite:PATH, a file on a local disk, made when it is first used; \
    postgres://USER@HOST/DATABASE; redis://HOST or rediss://HOST; dynamodb:TABLE; with ?prefix=PREFIX and other settings, see 'dlock setup --help'. Everybody \
    on this machine sees a password that is given here: put the whole URL into DLOCK_STORE instead \
    [env: DLOCK_STORE] [default: dlock/locks.db in this user's state directory, $XDG_STATE_HOME or ~/.local/state]";

/// Which store.
#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    // Help, not a doc comment: those want variables in backticks.
    #[arg(help = STORE_HELP, long, value_name = "STORE")]
    store: Option<OsString>,
}

impl StoreArguments {
    pub(crate) fn location(&self) -> Result<Box<dyn Location>, Failure> {
        // Empty, the variable says as little as if it were not set; an empty argument is a mistake.
        let variable = || env::var_os("DLOCK_STORE").filter(|store| !store.is_empty());
        let store = self.store.clone().or_else(variable);
        store::locate(store.as_deref())
    }
}

/// Does what this process's arguments say.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain(&error).unwrap_or_else(|failure| failure.report()),
    };
    log();
    let done = match cli.command {
        Command::Run(arguments) => run(arguments),
        Command::Elect(arguments) => elect(arguments),
        Command::Status(arguments) => status::main(&arguments),
        Command::Release(arguments) => release::main(&arguments),
        Command::Purge(arguments) => purge::main(&arguments),
        Command::Setup(arguments) => setup::main(&arguments),
    };
    done.unwrap_or_else(|failure| failure.report())
}

/// What is wrong with the command line, or the help that was asked for.
fn explain(error: &clap::Error) -> Result<ExitCode, Failure> {
    let text = error.render().to_string();
    if error.use_stderr() {
        // Nobody is left to tell when it can't be printed. It may repeat a word that was meant as the value of --store.
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

/// What the core and its stores report, for whoever looks for the reason of something: nothing unless
/// asked, and nothing of other libraries. Those that talk to servers log whole requests.
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
        assert!(Cli::try_parse_from(["dlock", "elect", "n", "--resign", "--exec", "x"]).is_err());
    }
}
