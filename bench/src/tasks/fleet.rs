//! Processes that work on a queue, and what they say (see `driver`).

use std::{
    process::Stdio,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStdin, Command},
    sync::watch,
    task::JoinHandle,
    time::timeout,
};

use super::{Entry, place::Place};
use crate::clock::Moment;

/// Longer than any process takes to start or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

fn command(entry: &Entry, place: &Place, words: &[String]) -> Result<Command> {
    let mut command = entry.program.command()?;
    command
        .args(words)
        .env("DATABASE_URL", place.url())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    Ok(command)
}

/// Has something done, and says how many seconds the program says that it took.
pub(crate) async fn tell(entry: &Entry, place: &Place, words: &[String]) -> Result<f64> {
    let mut command = command(entry, place, words)?;
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .await
        .context(entry.name)?;
    ensure!(
        output.status.success(),
        "{} {words:?}: {}",
        entry.name,
        output.status
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let took = text.lines().find_map(|line| line.strip_prefix("took "));
    Ok(took
        .and_then(|micros| micros.parse::<f64>().ok())
        .unwrap_or(0.0)
        / 1e6)
}

/// What a worker said at its end.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// When a task was enqueued, and how long before it began.
    pub(crate) seen: Vec<(u64, u64)>,
    /// When a claim was sent, and how long it took.
    pub(crate) claims: Vec<(u64, u64)>,
}

/// A process that runs tasks. It is killed when this is dropped.
pub(crate) struct Crew {
    child: Child,
    input: Option<ChildStdin>,
    ran: Arc<AtomicU64>,
    first: Arc<OnceLock<(Moment, u64)>>,
    began: watch::Receiver<u64>,
    said: JoinHandle<Result<Said>>,
}

impl Crew {
    /// Starts it, and returns when it says that it is ready.
    pub(crate) async fn start(
        entry: &Entry,
        place: &Place,
        concurrency: usize,
        pool: usize,
        settings: &[(&str, String)],
    ) -> Result<Self> {
        let words = ["work".to_owned(), concurrency.to_string(), pool.to_string()];
        let mut command = command(entry, place, &words)?;
        for (name, value) in settings {
            command.env(name, value);
        }
        let mut child = command.spawn().context(entry.name)?;
        let output = child.stdout.take().context("no pipe from a worker")?;
        let ran = Arc::new(AtomicU64::new(0));
        let (ready, mut is_ready) = watch::channel(false);
        let (beginning, began) = watch::channel(0);
        let count = Arc::clone(&ran);
        let first = Arc::new(OnceLock::new());
        let is_first = Arc::clone(&first);
        let said = tokio::spawn(async move {
            let mut said = Said::default();
            let mut lines = BufReader::new(output).lines();
            while let Some(line) = lines.next_line().await? {
                let words: Vec<&str> = line.split(' ').collect();
                match words[..] {
                    ["ready"] => drop(ready.send_replace(true)),
                    ["ran", number] => {
                        let number = number.parse()?;
                        is_first.get_or_init(|| (Moment::now(), number));
                        count.store(number, Ordering::Relaxed);
                    }
                    ["began", at] => drop(beginning.send_replace(at.parse()?)),
                    ["seen", at, took] => said.seen.push((at.parse()?, took.parse()?)),
                    ["claim", at, took] => said.claims.push((at.parse()?, took.parse()?)),
                    _ => {}
                }
            }
            Ok(said)
        });
        let started = timeout(PATIENCE, is_ready.wait_for(|ready| *ready)).await;
        started
            .context("a worker was not ready in a minute")?
            .with_context(|| format!("a worker of {} ended at once", entry.name))?;
        Ok(Self {
            input: child.stdin.take(),
            child,
            ran,
            first,
            began,
            said,
        })
    }

    /// How many tasks it has run.
    pub(crate) fn ran(&self) -> u64 {
        self.ran.load(Ordering::Relaxed)
    }

    /// When it said for the first time that it has run tasks, and how many.
    pub(crate) fn first(&self) -> Option<(Moment, u64)> {
        self.first.get().copied()
    }

    /// When its first task began that does not end, in microseconds of Unix time.
    pub(crate) async fn began(&mut self) -> Result<u64> {
        let began = timeout(PATIENCE, self.began.wait_for(|at| *at > 0)).await;
        Ok(*began.context("no task began in a minute")??)
    }

    /// Tells it to stop, and waits until it has.
    pub(crate) async fn stop(mut self) -> Result<Said> {
        drop(self.input.take());
        let status = timeout(PATIENCE, self.child.wait())
            .await
            .context("a worker did not stop in a minute")??;
        ensure!(status.success(), "a worker ended with {status}");
        self.said.await?
    }

    /// As `kill -9` does; returns when it is gone.
    pub(crate) async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}
