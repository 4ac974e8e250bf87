//! What every program says and does that works on a queue while it is measured: ours, and those of the peers, which
//! include this file. It is told by its arguments what to do, and which database by `DATABASE_URL`:
//!
//! - `setup`: make the tables.
//! - `enqueue N`: so many tasks that do nothing, a thousand in a call. It prints `took`, and how many microseconds
//!   that were.
//! - `offer RATE SECONDS`: so many tasks a second.
//! - `work CONCURRENCY POOL`: run them, until the standard input ends. It prints `ready`; each few milliseconds
//!   `ran N`, how many it has run so far; and at the end a line `seen AT LATENCY` for each offered task: when it was
//!   enqueued, and how long that was before it began, in microseconds.
//!
//! A task's payload is `{"at": AT}`: when its enqueueing began, in microseconds of Unix time, which the processes of
//! one host share; 0 if nobody wants to know.

use std::{
    future::Future,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::{io::AsyncReadExt as _, task::JoinSet, time::MissedTickBehavior};

/// So many tasks are enqueued in one call.
const BATCH: usize = 1000;

/// How often a worker tells how far it is.
const TELL: Duration = Duration::from_millis(5);

/// The payload of each task.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) at: u64,
}

/// What a worker has seen so far.
#[derive(Debug)]
pub(crate) struct Tally {
    ran: AtomicU64,
    seen: Mutex<Vec<(u64, u64)>>,
    lines: Mutex<Vec<String>>,
}

static TALLY: Tally = Tally {
    ran: AtomicU64::new(0),
    seen: Mutex::new(Vec::new()),
    lines: Mutex::new(Vec::new()),
};

/// That of this process: some peers' handlers have nothing else to reach it by.
pub(crate) fn tally() -> &'static Tally {
    &TALLY
}

impl Tally {
    /// A task runs.
    pub(crate) fn ran(&self, stamp: Stamp) {
        if stamp.at > 0 {
            let latency = now().saturating_sub(stamp.at);
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push((stamp.at, latency));
        }
        self.ran.fetch_add(1, Ordering::Relaxed);
    }

    /// Says one thing more at the end.
    #[allow(dead_code, reason = "the peers have nothing more to say")]
    pub(crate) fn note(&self, line: String) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line);
    }
}

/// Microseconds of Unix time.
#[allow(
    clippy::disallowed_methods,
    reason = "Go and JavaScript have no other clock that processes share; it decides nothing about a lease"
)]
pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_micros()).unwrap_or(0))
}

/// A queue under measurement.
pub(crate) trait Queue: Send + Sync + Sized + 'static {
    /// Makes its tables.
    fn setup(&self) -> impl Future<Output = Result<()>> + Send;

    /// Enqueues so many tasks in one call.
    fn enqueue(&self, tasks: usize, stamp: Stamp) -> impl Future<Output = Result<()>> + Send;

    /// Runs tasks, so many at a time, until told to stop.
    fn work(
        &self,
        concurrency: usize,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verb {
    Setup,
    Enqueue { tasks: usize },
    Offer { rate: f64, seconds: f64 },
    Work { concurrency: usize, pool: u32 },
}

impl Verb {
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Ok(match words[..] {
            ["setup"] => Self::Setup,
            ["enqueue", tasks] => Self::Enqueue {
                tasks: tasks.parse()?,
            },
            ["offer", rate, seconds] => Self::Offer {
                rate: rate.parse()?,
                seconds: seconds.parse()?,
            },
            ["work", concurrency, pool] => Self::Work {
                concurrency: concurrency.parse()?,
                pool: pool.parse()?,
            },
            _ => bail!("cannot {words:?}"),
        })
    }

    /// How many connections the process may have.
    pub(crate) const fn pool(self) -> u32 {
        match self {
            Self::Setup | Self::Enqueue { .. } => 2,
            Self::Offer { .. } => 10,
            Self::Work { pool, .. } => pool,
        }
    }
}

/// Where the database is.
pub(crate) fn url() -> Result<String> {
    std::env::var("DATABASE_URL").context("DATABASE_URL says where the database is")
}

/// Does it.
pub(crate) async fn drive<Q: Queue>(queue: Q, verb: Verb) -> Result<()> {
    match verb {
        Verb::Setup => queue.setup().await,
        Verb::Enqueue { tasks } => {
            let began = now();
            for start in (0..tasks).step_by(BATCH) {
                let number = BATCH.min(tasks - start);
                queue.enqueue(number, Stamp { at: 0 }).await?;
            }
            println!("took {}", now() - began);
            Ok(())
        }
        Verb::Offer { rate, seconds } => offer(&std::sync::Arc::new(queue), rate, seconds).await,
        Verb::Work { concurrency, .. } => {
            println!("ready");
            let telling = tokio::spawn(tell());
            let stop = async {
                // An error is an end, too.
                drop(tokio::io::stdin().read_to_end(&mut Vec::new()).await);
            };
            queue.work(concurrency, stop).await?;
            telling.abort();
            let Tally { ran, seen, lines } = tally();
            println!("ran {}", ran.load(Ordering::Relaxed));
            for (at, latency) in &*seen.lock().unwrap_or_else(PoisonError::into_inner) {
                println!("seen {at} {latency}");
            }
            for line in &*lines.lock().unwrap_or_else(PoisonError::into_inner) {
                println!("{line}");
            }
            Ok(())
        }
    }
}

/// Enqueues at a rate: a call for each task, or a hundred calls a second of several tasks.
async fn offer<Q: Queue>(queue: &std::sync::Arc<Q>, rate: f64, seconds: f64) -> Result<()> {
    let together = (rate / 100.0).max(1.0);
    let every = Duration::from_secs_f64(together / rate);
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut calls = JoinSet::new();
    let (mut due, mut given) = (0.0, 0_usize);
    for _ in 0..(seconds / every.as_secs_f64()).round() as u64 {
        ticks.tick().await;
        due += together;
        let number = due as usize - given;
        given += number;
        let queue = std::sync::Arc::clone(queue);
        calls.spawn(async move { queue.enqueue(number, Stamp { at: now() }).await });
        while let Some(done) = calls.try_join_next() {
            done??;
        }
    }
    while let Some(done) = calls.join_next().await {
        done??;
    }
    Ok(())
}

async fn tell() {
    let mut told = 0;
    loop {
        tokio::time::sleep(TELL).await;
        let ran = tally().ran.load(Ordering::Relaxed);
        if ran > told {
            println!("ran {ran}");
            told = ran;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_to_do() -> Result<()> {
        let parse = |words: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            Verb::parse(&words)
        };
        assert_eq!(parse("enqueue 7")?, Verb::Enqueue { tasks: 7 });
        let (concurrency, pool) = (100, 10);
        assert_eq!(parse("work 100 10")?, Verb::Work { concurrency, pool });
        assert_eq!(parse("work 100 10")?.pool(), 10);
        for wrong in ["", "enqueue", "enqueue x", "work 1", "setup 1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        Ok(())
    }

    /// Counts what it is given.
    #[derive(Default)]
    struct Counter(Mutex<Vec<usize>>);

    impl Queue for Counter {
        async fn setup(&self) -> Result<()> {
            Ok(())
        }

        async fn enqueue(&self, tasks: usize, _: Stamp) -> Result<()> {
            let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            calls.push(tasks);
            Ok(())
        }

        async fn work(&self, _: usize, _: impl Future<Output = ()> + Send + 'static) -> Result<()> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_are_offered_at_the_rate() -> Result<()> {
        for (rate, seconds, calls, tasks) in [
            (8.0, 3.0, 24, 24),
            (200.0, 2.0, 200, 400),
            (250.0, 2.0, 200, 500),
        ] {
            let counter = std::sync::Arc::new(Counter::default());
            offer(&counter, rate, seconds).await?;
            let given = counter.0.lock().unwrap_or_else(PoisonError::into_inner);
            assert_eq!((given.len(), given.iter().sum::<usize>()), (calls, tasks));
        }
        Ok(())
    }
}
