//! The shared part of the programs `tasks`, `generator` and `worker`: a queue in an SQLite database. Of any number of
//! generators, one fills it; any number of workers process it.

mod generator;
mod worker;

use std::{env, path::PathBuf, process, time::Duration};

use dlock::{
    sqlite::{fence::Fence, rusqlite::Connection, tasks::SqliteTasks},
    tasks::Payload,
};
use serde::{Deserialize, Serialize};

pub use self::{generator::generate, worker::work};
use crate::Failure;

/// A task that only takes time.
#[derive(Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sleep {
    /// The time that it takes.
    pub sleep_duration_seconds: u64,
}

impl Payload for Sleep {
    const KIND: &'static str = "sleep";
}

/// How a generator or a worker behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The database file.
    pub file: PathBuf,
    /// The name of the process.
    pub name: String,
    /// The lease of a task; a heartbeat is sent every third of it.
    pub lease: Duration,
    /// How often an idle worker polls for tasks.
    pub poll: Duration,
    /// How often the generator adds a task.
    pub every: Duration,
    /// The longest task, in seconds.
    pub longest: u64,
    /// The probability that a worker crashes in the middle of a task.
    pub crash: f64,
    /// The probability that a worker stalls for longer than its lease in the middle of a task.
    pub stall: f64,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Options {
    /// Parses the command line.
    ///
    /// # Errors
    /// An unknown option, or an invalid value.
    pub fn from_command_line(usage: &str) -> Result<Self, Failure> {
        let mut options = Self {
            file: env::temp_dir().join("dlock-example-tasks.db"),
            name: format!("process {}", process::id()),
            lease: Duration::from_secs(45),
            poll: Duration::from_secs(5),
            every: Duration::from_secs(2),
            longest: 60,
            crash: 0.0,
            stall: 0.0,
            seed: fastrand::u64(..),
        };
        let mut words = env::args().skip(1);
        while let Some(option) = words.next() {
            if option == "--help" {
                println!("usage: {usage}");
                process::exit(0);
            }
            let value = words
                .next()
                .ok_or_else(|| Failure::new(format!("{option:?} needs a value; usage: {usage}")))?;
            let usage = || {
                Failure::new(format!(
                    "{option:?} with {value:?} is not possible; usage: {usage}"
                ))
            };
            let number = || value.parse::<f64>().ok().filter(|number| *number >= 0.0);
            let seconds = || number().and_then(|number| Duration::try_from_secs_f64(number).ok());
            let share = || number().filter(|number| *number <= 1.0);
            match option.as_str() {
                "--file" => options.file = PathBuf::from(&value),
                "--name" => options.name.clone_from(&value),
                "--lease" => options.lease = seconds().ok_or_else(usage)?,
                "--poll" => options.poll = seconds().ok_or_else(usage)?,
                "--every" => options.every = seconds().ok_or_else(usage)?,
                "--longest" => options.longest = value.parse().map_err(|_| usage())?,
                "--crash" => options.crash = share().ok_or_else(usage)?,
                "--stall" => options.stall = share().ok_or_else(usage)?,
                "--seed" => options.seed = value.parse().map_err(|_| usage())?,
                _ => return Err(usage()),
            }
        }
        Ok(options)
    }

    /// The queue.
    ///
    /// # Errors
    /// A database that cannot be used.
    pub fn tasks(&self) -> Result<SqliteTasks, Failure> {
        Ok(SqliteTasks::open(&self.file)?)
    }

    /// A connection for the data that belongs to the tasks: the results of the workers, and the fence of the
    /// generators.
    ///
    /// # Errors
    /// A database that cannot be used.
    pub fn data(&self) -> Result<Connection, Failure> {
        let connection = Connection::open(&self.file)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS slept \
             (task INTEGER NOT NULL, worker TEXT NOT NULL, seconds INTEGER NOT NULL) STRICT",
        )?;
        fence().create_schema(&connection)?;
        Ok(connection)
    }
}

/// Refuses a generator whose lease another one has taken over.
fn fence() -> Fence {
    Fence::new("example_fence")
}

/// Resolves when the program should stop: at Ctrl-C and SIGTERM, and, if another program started it, when its standard
/// input closes.
pub async fn stopped() {
    let closed = async {
        if env::var_os(CHILD).is_none() {
            std::future::pending::<()>().await;
        }
        let mut rest = Vec::new();
        let mut input = tokio::io::stdin();
        drop(tokio::io::AsyncReadExt::read_to_end(&mut input, &mut rest).await);
    };
    tokio::select! {
        () = closed => {}
        _ = tokio::signal::ctrl_c() => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut signals) => drop(signals.recv().await),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}

/// Set for programs that end with the one that started them.
pub const CHILD: &str = "DLOCK_EXAMPLE_CHILD";
