//! `dlock watch`: prints the changes of a lock, line by line.

use std::{process::ExitCode, time::Duration};

use dlock_core::{Name, Record};
use dlock_stores::{Location, Store};
use serde::Serialize;
use uuid::Uuid;

use crate::{
    arguments::{self, WatchArguments},
    display::{self, Condition, instant, wall_clock},
    exit::{Exit, Failure, say},
    output, query,
    status::Row,
};

/// Runs `dlock watch`.
pub(crate) fn main(arguments: &WatchArguments) -> Result<ExitCode, Failure> {
    query::main(run(arguments))
}

async fn run(arguments: &WatchArguments) -> Result<ExitCode, Failure> {
    let WatchArguments {
        name,
        every,
        renewals,
        json,
        store,
    } = arguments;
    let name = arguments::name(name)?;
    let mut lock = Watched {
        location: store.location()?,
        store: None,
        name,
    };
    let mut shown = None;
    let mut silent = false;
    loop {
        match lock.look().await {
            Ok(record) => {
                if std::mem::take(&mut silent) {
                    say(format_args!("the store answers again"));
                }
                let now = Some(State::of(record.as_ref(), *renewals));
                if now != shown {
                    shown = now;
                    let line = line(&lock.name, record.as_ref(), *json)?;
                    if !output::write(&(line + "\n"))? {
                        return Ok(ExitCode::SUCCESS);
                    }
                }
            }
            // An error that may pass is printed once.
            Err(failure) if failure.exit() == Exit::StoreUnreachable => {
                if !std::mem::replace(&mut silent, true) {
                    failure.report();
                }
            }
            Err(failure) => return Err(failure),
        }
        tokio::time::sleep(*every).await;
        if !output::has_reader() {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// A lock, and its store once there is one.
struct Watched {
    location: Location,
    store: Option<Store>,
    name: Name,
}

impl Watched {
    async fn look(&mut self) -> Result<Option<Record>, Failure> {
        if self.store.is_none() {
            self.store = query::open(&self.location).await?;
        }
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let reading = store.provider().read(&self.name);
        query::answer(store, "can't read the lock", reading).await
    }
}

/// The state whose change prints a line; `None` as long as the lock was never held.
#[derive(PartialEq, Eq)]
struct State(Option<(Condition, Uuid, bool, Option<u64>)>);

impl State {
    fn of(record: Option<&Record>, renewals: bool) -> Self {
        Self(record.map(|record| {
            let renewals = renewals.then_some(record.renewals);
            (Condition::of(record), record.uuid, record.asked, renewals)
        }))
    }
}

/// A change as programs see it: the row of `dlock status`, and when.
#[derive(Serialize)]
struct Change<'a> {
    /// RFC 3339, UTC, this machine's clock.
    at: Option<String>,
    /// When it ends unless it is renewed, on the same clock; null where the store does not know, and where the
    /// lock is free.
    until: Option<String>,
    #[serde(flatten)]
    row: Shown<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Record(Box<Row>),
    Nothing { name: &'a str, state: &'static str },
}

fn line(name: &Name, record: Option<&Record>, json: bool) -> Result<String, Failure> {
    let now = wall_clock();
    let left = record.and_then(|record| {
        let keeps_out = matches!(Condition::of(record), Condition::Held | Condition::Closed);
        record.remaining.filter(|_| keeps_out)
    });
    let until = left.and_then(|left: Duration| instant(now.checked_add(left)?));
    let at = instant(now);
    if json {
        let row = record.map_or(
            Shown::Nothing {
                name: name.as_str(),
                state: "absent",
            },
            |record| Shown::Record(Box::new(Row::new(name, record))),
        );
        let change = Change { at, until, row };
        return serde_json::to_string(&change).map_err(crate::status::no_json);
    }
    let at = at.unwrap_or_else(|| "?".into());
    let Some(record) = record else {
        return Ok(format!("{at} {:?} was never held", name.as_str()));
    };
    let mut line = format!("{at} {}", display::condition(name, record));
    if Condition::of(record) == Condition::Held {
        if let Some(until) = until {
            line.push_str(&format!(", until {until} unless it is renewed"));
        }
        if record.asked {
            line.push_str(", and was asked to give it back");
        }
    }
    Ok(line)
}
