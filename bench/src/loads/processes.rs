//! Processes on one name: 8 of one task each, or those of `--shapes`.

use std::{convert::Infallible, fmt, future::pending, str::FromStr, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use dlock_core::{
    Name,
    provider::{Acquire, AcquireOutcome, Release},
};
use futures_util::future::try_join_all;
use tokio::{select, task::spawn_blocking, time::sleep};
use uuid::Uuid;

use super::{Line, Load, Page};
use crate::{
    bench::{At, Bench},
    check::{
        Bound::{Least, Most},
        Goal, goal,
    },
    contend::{self, Plan},
    counters::{Server, counted},
    results::Figures,
    systems::{
        Entry, LEASE, Store,
        ours::{self, Waiting},
    },
    worker::{Answer, Order, Worker},
};

/// The waiters of the usual loads on one name, and how long a holder keeps the lock unless it releases at once.
pub(super) const WAITERS: usize = 8;
pub(super) const SECTION: Duration = Duration::from_millis(5);

pub(super) const COLUMNS: &[(&str, &str)] = &[
    ("grants/s", "grants_per_second"),
    ("% of the possible", "possible_percent"),
    ("wait p50, ms", "wait_p50_ms"),
    ("p99", "wait_p99_ms"),
    ("worst", "wait_worst_ms"),
    ("worst in cycles", "worst_cycles"),
    ("most/least", "most_by_least"),
    ("longest of a process without, ms", "without_ms"),
    ("commands a grant", "commands_per_grant"),
];

const BUSY: &str = "8x1@5";

pub(super) const PAGE: Page = Page {
    title: "Processes on one name: processes x tasks @ milliseconds that each grant is kept",
    columns: COLUMNS,
    lines: &[Line {
        what: "8 processes, one lock, 5 ms each: grants/s",
        case: BUSY,
        figure: "grants_per_second",
        more: true,
    }],
    goals: &[
        possible(Store::Redis, 95.0),
        possible(Store::Postgres, 92.0),
        possible(Store::SQLite, 90.0),
        at_most(Store::Redis, "most_by_least", 1.5),
        at_most(Store::Postgres, "most_by_least", 1.5),
        at_most(Store::SQLite, "most_by_least", 1.5),
        at_most(Store::Redis, "worst_cycles", 3.0),
        at_most(Store::Postgres, "worst_cycles", 3.0),
        at_most(Store::Redis, "commands_per_grant", 10.0),
        at_most(Store::Postgres, "commands_per_grant", 10.0),
    ],
};

const fn possible(store: Store, percent: f64) -> Goal {
    goal(store, BUSY, "possible_percent", Least(percent)).open()
}

const fn at_most(store: Store, figure: &'static str, limit: f64) -> Goal {
    goal(store, BUSY, figure, Most(limit))
}

/// The most processes, and the most tasks of each.
const MOST: usize = 64;

/// The tasks of each process, and how long each grant is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    tasks: Vec<usize>,
    /// Beside them, each second, a waiter is refused and dies.
    dying: bool,
    section: Duration,
}

impl FromStr for Shape {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (tasks, section) = text.split_once('@').context("it has no `@`: 4x2@20")?;
        let number = |text: &str| -> Result<usize> {
            let number = text.parse()?;
            ensure!(
                (1..=MOST).contains(&number),
                "{number} is not in 1..={MOST}"
            );
            Ok(number)
        };
        let (tasks, dying) = match tasks.strip_suffix("+dying") {
            Some(tasks) => (tasks, true),
            None => (tasks, false),
        };
        let tasks = match tasks.split_once('x') {
            Some((processes, tasks)) => vec![number(tasks)?; number(processes)?],
            None => tasks.split('+').map(number).collect::<Result<_>>()?,
        };
        ensure!(tasks.len() <= MOST, "more than {MOST} processes");
        let section = Duration::from_millis(section.parse()?);
        ensure!(
            section <= Duration::from_secs(1),
            "a grant is kept for at most 1000 ms"
        );
        Ok(Self {
            tasks,
            dying,
            section,
        })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            tasks,
            dying,
            section,
        } = self;
        match tasks.as_slice() {
            [first, others @ ..] if others.iter().all(|other| other == first) => {
                write!(f, "{}x{first}", tasks.len())?;
            }
            _ => {
                let tasks: Vec<String> = tasks.iter().map(usize::to_string).collect();
                f.write_str(&tasks.join("+"))?;
            }
        }
        let dying = if *dying { "+dying" } else { "" };
        write!(f, "{dying}@{}", section.as_millis())
    }
}

/// The time that it takes to give every process its order.
const LEAD: Duration = Duration::from_millis(50);

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    let mut shapes = bench.variant.shapes.clone();
    if shapes.is_empty() {
        shapes.extend([Duration::ZERO, SECTION].map(|section| Shape {
            tasks: vec![1; WAITERS],
            dying: false,
            section,
        }));
    }
    for shape in &shapes {
        let case = shape.to_string();
        for entry in bench.waiting() {
            bench.says(format!("{case}: {} on {}", entry.name, entry.store));
            let at = At {
                run,
                load: Load::Processes,
                case: &case,
            };
            bench.settle(at, entry, contend(bench, entry, shape).await);
        }
    }
    Ok(())
}

/// Processes that have all opened one lock.
pub(super) async fn crew(
    bench: &Bench,
    entry: &Entry,
    name: &str,
    size: usize,
) -> Result<Vec<Worker>> {
    try_join_all((0..size).map(|_| async {
        let mut worker = Worker::start()?;
        let open = Order::Open {
            store: entry.store,
            system: entry.name.to_owned(),
            places: bench.places().clone(),
            name: name.to_owned(),
        };
        worker.ask(&open).await?;
        Ok::<_, anyhow::Error>(worker)
    }))
    .await
}

async fn contend(bench: &Bench, entry: &Entry, shape: &Shape) -> Result<Figures> {
    let millis = Duration::from_millis;
    let span = if !bench.variant.shapes.is_empty() {
        bench.size(millis(10_000), millis(2000))
    } else if shape.section.is_zero() {
        bench.size(millis(400), millis(150))
    } else {
        bench.size(millis(1800), millis(700))
    };
    let name = bench.name("across");
    let mut crew = crew(bench, entry, &name, shape.tasks.len()).await?;
    let mut server = Server::of(entry, bench.places()).await?;
    let plan = Plan::soon(LEAD, span, shape.section);
    let orders = crew.iter_mut().zip(&shape.tasks).map(|(worker, &tasks)| {
        let order = Order::Contend { plan, tasks };
        async move { worker.ask(&order).await }
    });
    let deaths = async {
        if shape.dying {
            waiters_die(bench, entry, &name).await
        } else {
            pending().await
        }
    };
    let (answers, mut commands) = select! {
        answers = counted(&mut server, try_join_all(orders)) => answers?,
        failed = deaths => match failed? {},
    };
    let mut processes = Vec::new();
    for answer in answers {
        let Answer::Waited { waiters, requests } = answer else {
            bail!("a worker answered {answer:?}");
        };
        processes.push(waiters);
        commands += requests;
    }
    Ok(contend::amount(&processes, plan, commands))
}

/// Each second, another client is refused, leaves its mark, and is never heard of again.
async fn waiters_die(bench: &Bench, entry: &Entry, name: &str) -> Result<Infallible> {
    let (store, places) = (entry.store, bench.places().clone());
    let provider =
        spawn_blocking(move || ours::provider(store, &places, Waiting::Polled)).await??;
    let name = Name::new(name)?;
    loop {
        sleep(Duration::from_secs(1)).await;
        loop {
            let request = Acquire::new(name.clone(), Uuid::new_v4(), LEASE).marks(1);
            let AcquireOutcome::Acquired(tokens) = provider.acquire(&request).await? else {
                break;
            };
            let release = Release::new(name.clone(), request.new, Some(tokens.last()));
            provider.release(&release).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_is_read_as_it_is_written() -> Result<()> {
        for text in ["8x1@5", "4x2@20", "2+1@0", "1x1+dying@5"] {
            assert_eq!(text.parse::<Shape>()?.to_string(), text);
        }
        assert_eq!("4x2@20".parse::<Shape>()?.tasks, [2; 4]);
        for wrong in ["2+1", "65x1@5", "0+1@5", "@5", "1x65@5", "1@2000"] {
            assert!(wrong.parse::<Shape>().is_err(), "{wrong}");
        }
        Ok(())
    }
}
