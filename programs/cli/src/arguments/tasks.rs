//! The arguments of `dlock tasks`.

use std::{
    ffi::OsString,
    time::{Duration, SystemTime},
};

use clap::{Args, Subcommand};
use dlock_tasks::{NewTask, State, TaskId};

use super::time;

/// Arguments of `dlock tasks`.
#[derive(Debug, Args)]
pub(crate) struct TasksArguments {
    #[command(subcommand)]
    pub(crate) what: TasksCommand,
    // Help, not a doc comment: clippy wants variables in doc comments in backticks.
    #[arg(
        help = "Where the tasks are: sqlite:PATH or postgres://USER@HOST/DATABASE[?schema=SCHEMA], a database with the \
            tables of a queue. Every user of this machine sees a password that is given here: put the whole URL into \
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

/// The subcommands of `dlock tasks`.
#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// How many tasks of each queue are in which state
    Counts,
    /// Tasks by number, the newest first
    List {
        /// Only of this queue
        #[arg(long)]
        queue: Option<String>,
        /// Only scheduled, ready, running, stalled, succeeded, dead or cancelled ones
        #[arg(long)]
        state: Option<State>,
        /// Only of this kind
        #[arg(long)]
        kind: Option<String>,
        /// The oldest first
        #[arg(long)]
        oldest_first: bool,
        /// Only those after this one: the last one of the page before
        #[arg(long, value_name = "ID", value_parser = task)]
        after: Option<TaskId>,
        /// At most this many
        #[arg(long, default_value_t = 100)]
        limit: usize,
    },
    /// All that is known of a task: payload, errors, its worker
    Show {
        /// The task's number
        #[arg(value_parser = task)]
        id: TaskId,
    },
    /// Add a task
    Enqueue(EnqueueArguments),
    /// Create the tables of a queue where they are missing
    Setup,
    /// Cancel tasks: a waiting task ends, the worker of a running one is asked to stop
    Cancel {
        /// Their numbers
        #[arg(required = true, value_parser = task)]
        ids: Vec<TaskId>,
        /// End running ones at once: their workers lose them
        #[arg(long)]
        force: bool,
    },
    /// Enqueue ended tasks once more: dead and cancelled ones themselves, a copy of others
    Retry {
        /// Their numbers
        #[arg(required = true, value_parser = task)]
        ids: Vec<TaskId>,
    },
    /// Pause queues: no worker gets their tasks until they are resumed; running tasks continue
    Pause {
        /// Their names
        #[arg(required = true)]
        queues: Vec<String>,
    },
    /// Resume paused queues
    Resume {
        /// Their names
        #[arg(required = true)]
        queues: Vec<String>,
    },
    /// The paused queues
    Paused,
    /// Limit how many tasks of a queue run at a time, over all workers
    Limit {
        /// Its name
        queue: String,
        /// 1 or more; none removes the limit
        #[arg(value_name = "NUMBER|none", value_parser = limit)]
        limit: Limit,
    },
    /// The queues with a limit
    Limits,
}

/// Arguments of `dlock tasks enqueue`.
#[derive(Debug, Args)]
pub(crate) struct EnqueueArguments {
    /// Which handler it is for
    pub(crate) kind: String,
    /// The handler's input, as JSON; - reads it from standard input [default: null]
    pub(crate) payload: Option<String>,
    /// The queue
    #[arg(long, default_value = NewTask::QUEUE)]
    pub(crate) queue: String,
    /// Add nothing if a task of this queue has this key and has not ended
    #[arg(long)]
    pub(crate) key: Option<String>,
    /// Until when others with this key are not added: with 'started', a change made while it runs gets a task of its
    /// own
    #[arg(long, value_name = "WHEN", value_parser = ["ended", "started"], default_value = "ended", requires = "key")]
    pub(crate) key_until: String,
    /// Run it while no other task of this queue and lane runs, in their order
    #[arg(long)]
    pub(crate) lane: Option<String>,
    /// 0 to 9; smaller numbers run first
    #[arg(long, default_value_t = 5)]
    pub(crate) priority: u8,
    /// Not before this time has passed, e.g. 90s or 2h
    #[arg(long = "in", value_name = "TIME", value_parser = time, conflicts_with = "at")]
    pub(crate) delay: Option<Duration>,
    /// Not before this instant, e.g. 2026-12-01T09:00:00Z
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub(crate) at: Option<SystemTime>,
    /// The number of attempts: 1 to 1000
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
