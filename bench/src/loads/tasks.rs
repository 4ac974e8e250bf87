//! 8 tasks of one process on one name: unchanged, with an owner each, or half of them on a current-thread runtime.

use std::{thread, time::Duration};

use anyhow::Result;
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
    task::JoinSet,
};

use super::{
    Line, Load, Page,
    processes::{COLUMNS, SECTION, WAITERS},
};
use crate::{
    bench::{At, Bench},
    check::{
        Bound::{Least, Most},
        Goal, goal,
    },
    contend::{self, Plan, Waiter},
    counters::{Server, counted},
    results::Figures,
    systems::{Entry, Store},
};

const EMPTY: &str = "0 ms";
const BUSY: &str = "5 ms";

pub(super) const PAGE: Page = Page {
    title: "8 tasks of one process on one name",
    columns: COLUMNS,
    lines: &[Line {
        what: "8 tasks of a process, one lock, 0 ms each: grants/s",
        case: EMPTY,
        figure: "grants_per_second",
        more: true,
    }],
    goals: &[
        grants(Store::Redis),
        grants(Store::Postgres).open(),
        grants(Store::SQLite),
        grants(Store::DynamoDb).open(),
        possible(Store::Redis),
        possible(Store::Postgres),
        possible(Store::SQLite),
        possible(Store::DynamoDb),
        commands(Store::Redis),
        commands(Store::Postgres),
        commands(Store::SQLite),
        commands(Store::DynamoDb),
        shares(Store::Redis, EMPTY),
        shares(Store::Postgres, EMPTY),
        shares(Store::SQLite, EMPTY),
        shares(Store::DynamoDb, EMPTY),
        shares(Store::Redis, BUSY),
        shares(Store::Postgres, BUSY),
        shares(Store::SQLite, BUSY),
        shares(Store::DynamoDb, BUSY),
        worst(Store::Redis),
        worst(Store::Postgres),
        worst(Store::SQLite),
        worst(Store::DynamoDb),
    ],
};

const fn grants(store: Store) -> Goal {
    goal(store, EMPTY, "grants_per_second", Least(100_000.0))
}

const fn possible(store: Store) -> Goal {
    goal(store, BUSY, "possible_percent", Least(99.0))
}

const fn commands(store: Store) -> Goal {
    goal(store, EMPTY, "commands_per_grant", Most(0.15))
}

const fn shares(store: Store, case: &'static str) -> Goal {
    goal(store, case, "most_by_least", Most(1.2))
}

const fn worst(store: Store) -> Goal {
    goal(store, BUSY, "worst_cycles", Most(3.0))
}

/// The time until every task is ready.
const LEAD: Duration = Duration::from_millis(20);

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    let millis = Duration::from_millis;
    let loads = [
        (EMPTY, Duration::ZERO, bench.size(millis(400), millis(150))),
        (BUSY, SECTION, bench.size(millis(1200), millis(500))),
    ];
    let mut variant = String::new();
    if bench.variant.owner_each {
        variant.push_str(", an owner each");
    }
    if bench.variant.two_runtimes {
        variant.push_str(", two runtimes");
    }
    for (case, section, span) in loads {
        for entry in bench.waiting() {
            let case = format!("{case}{variant}");
            bench.says(format!(
                "8 tasks, {case}: {} on {}",
                entry.name, entry.store
            ));
            let at = At {
                run,
                load: Load::Tasks,
                case: &case,
            };
            bench.settle(at, entry, crowd(bench, entry, span, section).await);
        }
    }
    Ok(())
}

async fn crowd(
    bench: &Bench,
    entry: &'static Entry,
    span: Duration,
    section: Duration,
) -> Result<Figures> {
    let system = bench.open(entry).await?;
    let mut server = Server::of(entry, bench.places()).await?;
    let name = bench.name("tasks");
    let second = bench.variant.two_runtimes.then(Second::start).transpose()?;
    let plan = Plan::soon(LEAD, span, section);
    let (waited, commands) = counted(&mut server, async {
        let mut crowd = JoinSet::new();
        for number in 0..WAITERS {
            let lock = if bench.variant.owner_each {
                system.owned(&name, &format!("task {number}"))?
            } else {
                system.lock(&name)?
            };
            let waiting = async move { contend::wait_in_turns(&*lock, plan).await };
            match &second {
                Some(second) if number % 2 == 1 => crowd.spawn_on(waiting, &second.handle),
                _ => crowd.spawn(waiting),
            };
        }
        let mut waited: Vec<Waiter> = Vec::new();
        while let Some(done) = crowd.join_next().await {
            waited.push(done??);
        }
        Ok(waited)
    })
    .await?;
    Ok(contend::amount(&[waited], plan, commands))
}

/// A current-thread runtime on its own thread, until this is dropped.
struct Second {
    handle: Handle,
    _end: oneshot::Sender<()>,
}

impl Second {
    fn start() -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        thread::spawn(move || runtime.block_on(ended));
        Ok(Self { handle, _end: end })
    }
}
