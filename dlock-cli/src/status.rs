//! `dlock status`: the records of a store, for people and for programs.

use std::{process::ExitCode, time::Duration};

use dlock_core::{List, Name, Record};
use serde::Serialize;

use crate::{
    ask,
    cli::StatusArguments,
    display::{Condition, harmless, instant, span},
    exit::{Exit, Failure},
    output,
    store::Store,
};

const DOING: &str = "can't read the locks";

/// Runs `dlock status`.
pub(crate) fn main(arguments: &StatusArguments) -> Result<ExitCode, Failure> {
    ask::main(run(arguments))
}

async fn run(arguments: &StatusArguments) -> Result<ExitCode, Failure> {
    let StatusArguments { name, json, store } = arguments;
    let name = name.as_ref().map(Name::new).transpose()?;
    let location = store.location()?;
    let store = ask::open(&*location).await?;
    let records = match (&store, &name) {
        (None, _) => Vec::new(),
        (Some(store), Some(name)) => read(store, name).await?.into_iter().collect(),
        (Some(store), None) => list(store).await?,
    };
    if let (Some(name), true) = (&name, records.is_empty()) {
        return Err(ask::no_lock(name));
    }
    let rows: Vec<Row> = records
        .iter()
        .map(|(name, record)| Row::new(name, record))
        .collect();
    let text = match (json, &name) {
        (true, Some(_)) => rows.first().map(to_json).transpose(),
        (true, None) => to_json(&rows).map(Some),
        (false, _) => Ok(Some(table(&rows))),
    };
    let text =
        text.map_err(|error| Failure::new(Exit::System, "can't write JSON").because(error))?;
    output::write(&text.unwrap_or_default())?;
    Ok(ExitCode::SUCCESS)
}

async fn read(store: &Store, name: &Name) -> Result<Option<(Name, Record)>, Failure> {
    Ok(ask::answer(store, DOING, store.provider.read(name))
        .await?
        .map(|record| (name.clone(), record)))
}

/// Every lock. What waiters have reserved for themselves is none.
async fn list(store: &Store) -> Result<Vec<(Name, Record)>, Failure> {
    let mut records = Vec::new();
    let mut request = List::new("");
    loop {
        let page = ask::answer(store, DOING, store.provider.list(&request)).await?;
        let locks = page.records.into_iter();
        records.extend(locks.filter(|(name, _)| name.reservation_of().is_none()));
        match page.next {
            Some(next) => request = request.after(Some(next)),
            None => return Ok(records),
        }
    }
}

/// A record as programs see it. Times are strings and numbers that JSON has.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    /// "held", "closed", "expired" or "released".
    state: &'static str,
    owner: String,
    token: u64,
    /// RFC 3339, UTC; null if no calendar shows it.
    since: Option<String>,
    lease_ms: u64,
    /// What was left when the store answered; null where the store does not know.
    remaining_ms: Option<u64>,
    renewals: u64,
    uuid: String,
    asked: bool,
    /// What the holder stored beside the lock; null if nothing, or not UTF-8.
    data: Option<String>,
}

impl Row {
    fn new(name: &Name, record: &Record) -> Self {
        let milliseconds = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        Self {
            name: name.as_str().to_owned(),
            state: Condition::of(record).as_str(),
            owner: record.owner.clone(),
            token: record.token.get(),
            since: instant(record.since),
            lease_ms: milliseconds(record.duration),
            remaining_ms: record.remaining.map(milliseconds),
            renewals: record.renewals,
            uuid: record.uuid.to_string(),
            asked: record.asked,
            data: record
                .data
                .clone()
                .and_then(|data| String::from_utf8(data).ok()),
        }
    }
}

fn to_json(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no locks\n".into();
    }
    let heading = ["NAME", "STATE", "LEFT", "TOKEN", "SINCE", "OWNER"].map(String::from);
    let lines: Vec<[String; 6]> = std::iter::once(heading)
        .chain(rows.iter().map(|row| {
            let left = row.remaining_ms.filter(|_| {
                [Condition::Held, Condition::Closed]
                    .map(Condition::as_str)
                    .contains(&row.state)
            });
            [
                harmless(&row.name),
                row.state.to_owned(),
                left.map_or_else(|| "-".into(), |left| span(Duration::from_millis(left))),
                row.token.to_string(),
                row.since.clone().unwrap_or_else(|| "?".into()),
                harmless(&row.owner),
            ]
        }))
        .collect();
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for line in &lines {
        let cells = line
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
