//! What each command is told on the command line, and by the environment.

use std::{
    env,
    ffi::OsString,
    time::{Duration, SystemTime},
};

use clap::{Args, Subcommand};
use dlock_stores::Location;
use dlock_tasks::{NewTask, State, TaskId};

use crate::exit::{Failure, PROGRAM};

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
    /// Don't stand: ask the leader to step down, and end
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

/// Arguments of `dlock tasks`.
#[derive(Debug, Args)]
pub(crate) struct TasksArguments {
    #[command(subcommand)]
    pub(crate) what: TasksCommand,
    // Help, not a doc comment: those want variables in backticks.
    #[arg(
        help = "Where the tasks are: sqlite:PATH or postgres://USER@HOST/DATABASE[?schema=SCHEMA], a database with the \
            tables of a queue. Everybody on this machine sees a password that is given here: put the whole URL into \
            DLOCK_DATABASE instead [env: DLOCK_DATABASE]",
        long,
        visible_alias = "store",
        value_name = "DATABASE",
        global = true
    )]
    pub(crate) database: Option<OsString>,
    /// For programs: JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What `dlock tasks` does.
#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// How many tasks of each queue are in which state
    Counts,
    /// Tasks by number
    List {
        /// Only of this queue
        #[arg(long)]
        queue: Option<String>,
        /// Only scheduled, ready, running, stalled, succeeded, dead or cancelled ones
        #[arg(long)]
        state: Option<State>,
        /// Only those with a larger number: the last one of the page before
        #[arg(long, value_name = "ID", value_parser = task)]
        after: Option<TaskId>,
        /// At most so many
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
    /// All that is known of a task: payload, errors, who has it
    Show {
        /// The task's number
        #[arg(value_parser = task)]
        id: TaskId,
    },
    /// Add a task
    Enqueue(EnqueueArguments),
    /// Make the tables of a queue where they are missing
    Setup,
    /// Cancel tasks: one that waits ends, the worker of one that runs is asked to stop
    Cancel {
        /// Their numbers
        #[arg(required = true, value_parser = task)]
        ids: Vec<TaskId>,
        /// End those that run at once: their workers lose them
        #[arg(long)]
        force: bool,
    },
    /// Enqueue tasks once more that have ended: dead and cancelled ones themselves, a copy of others
    Retry {
        /// Their numbers
        #[arg(required = true, value_parser = task)]
        ids: Vec<TaskId>,
    },
    /// Pause queues: nobody gets their tasks until they are resumed; those that run go on
    Pause {
        /// Their names
        #[arg(required = true)]
        queues: Vec<String>,
    },
    /// Resume queues that are paused
    Resume {
        /// Their names
        #[arg(required = true)]
        queues: Vec<String>,
    },
    /// The queues that are paused
    Paused,
    /// Limit how many tasks of a queue run at a time, over all workers
    Limit {
        /// Its name
        queue: String,
        /// 1 or more; none takes the limit away
        #[arg(value_name = "NUMBER|none", value_parser = limit)]
        limit: Limit,
    },
    /// The queues that have a limit
    Limits,
}

/// Arguments of `dlock tasks enqueue`.
#[derive(Debug, Args)]
pub(crate) struct EnqueueArguments {
    /// Which handler it is for
    pub(crate) kind: String,
    /// What the handler gets, as JSON; - reads it from standard input [default: null]
    pub(crate) payload: Option<String>,
    /// The queue
    #[arg(long, default_value = NewTask::QUEUE)]
    pub(crate) queue: String,
    /// Add nothing if a task of this queue and key has not ended yet
    #[arg(long)]
    pub(crate) key: Option<String>,
    /// Run it while no other task of this queue and lane runs, in their order
    #[arg(long)]
    pub(crate) lane: Option<String>,
    /// 0 to 9; smaller numbers run first
    #[arg(long, default_value_t = 5)]
    pub(crate) priority: u8,
    /// Not before this time has passed, as 90s or 2h
    #[arg(long = "in", value_name = "TIME", value_parser = time, conflicts_with = "at")]
    pub(crate) delay: Option<Duration>,
    /// Not before this instant, as 2026-12-01T09:00:00Z
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub(crate) at: Option<SystemTime>,
    /// How often it is tried: 1 to 1000
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub(crate) max_attempts: u32,
}

fn instant(text: &str) -> Result<SystemTime, String> {
    humantime::parse_rfc3339(text)
        .map_err(|error| format!("{error}; an instant is written in UTC, as 2026-12-01T09:00:00Z"))
}

/// A limit, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(pub(crate) Option<u32>);

fn limit(text: &str) -> Result<Limit, String> {
    match text.parse() {
        _ if text == "none" => Ok(Limit(None)),
        Ok(0) => Err("a queue with a limit of 0 would never run a task: pause it".to_owned()),
        Ok(limit) => Ok(Limit(Some(limit))),
        Err(_) => Err("a limit is a number from 1 on, or none".to_owned()),
    }
}

fn task(text: &str) -> Result<TaskId, String> {
    let number = text.parse().ok().and_then(TaskId::new);
    number.ok_or_else(|| "a task's number is 1 or more".to_owned())
}

const STORE_HELP: &str = "Where the locks are: sqlite:PATH, a file on a local disk, made when it is first used; \
    postgres://USER@HOST/DATABASE; redis://HOST or rediss://HOST; redis+sentinel://HOSTS/SERVICE; dynamodb:TABLE; etcd://HOST or etcds://HOST; kubernetes://NAMESPACE; mysql://USER@HOST/DATABASE; nats://HOST/BUCKET; s3://BUCKET/PREFIX or azure://CONTAINER/PREFIX; https://HOST, a dlock-server; with ?prefix=PREFIX and other settings, see 'dlock setup --help'. Everybody \
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
    pub(crate) fn location(&self) -> Result<Location, Failure> {
        // Empty, the variable says as little as if it were not set; an empty argument is a mistake.
        let variable = || env::var_os("DLOCK_STORE").filter(|store| !store.is_empty());
        let store = self.store.clone().or_else(variable);
        Ok(dlock_stores::locate(&PROGRAM, store.as_deref())?)
    }
}

fn time(text: &str) -> Result<Duration, humantime::DurationError> {
    humantime::parse_duration(text)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
