//! How records look: a table for people, JSON for programs. Both are made page by page.

use std::time::Duration;

use dlock_core::{Name, Record};
use dlock_stores::text::harmless;
use serde::Serialize;

use crate::{
    display::{Condition, instant, short_name, span},
    exit::{Exit, Failure},
};

/// A record as programs see it. Times are strings, and numbers that fit JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(super) name: String,
    /// "held", "closed", "expired" or "released"; "unreadable" if it is not a record.
    state: &'static str,
    #[serde(flatten)]
    content: Content,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content {
    Record(Box<Shown>),
    /// Only why it can't be read.
    Flaw {
        error: String,
    },
}

#[derive(Debug, Serialize)]
struct Shown {
    owner: String,
    token: u64,
    /// RFC 3339, UTC; null if no calendar shows it.
    since: Option<String>,
    lease_ms: u64,
    /// The time that remained when the store answered; null where the store does not know.
    remaining_ms: Option<u64>,
    renewals: u64,
    uuid: String,
    asked: bool,
    /// The mark of a waiter that was refused in this term; 0 if there is none.
    wanted: u32,
    /// The holder's data stored with the lock; null if there is none, or it is not UTF-8.
    data: Option<String>,
}

impl Row {
    pub(crate) fn new(name: &Name, record: &Record) -> Self {
        let milliseconds = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let data = record.data.clone();
        Self {
            name: name.as_str().to_owned(),
            state: Condition::of(record).as_str(),
            content: Content::Record(Box::new(Shown {
                owner: record.owner.clone(),
                token: record.token.get(),
                since: instant(record.since),
                lease_ms: milliseconds(record.duration),
                remaining_ms: record.remaining.map(milliseconds),
                renewals: record.renewals,
                uuid: record.uuid.to_string(),
                asked: record.asked,
                wanted: record.wanted,
                data: data.and_then(|data| String::from_utf8(data).ok()),
            })),
        }
    }

    /// A record that can't be read, and why.
    pub(super) fn unreadable(name: &Name, why: &str) -> Self {
        Self {
            name: name.as_str().to_owned(),
            state: "unreadable",
            content: Content::Flaw {
                error: why.to_owned(),
            },
        }
    }

    /// As JSON in one line.
    pub(crate) fn line(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(no_json)
    }

    /// Whether it keeps others out now.
    pub(super) fn keeps_out(&self) -> bool {
        [Condition::Held, Condition::Closed]
            .map(Condition::as_str)
            .contains(&self.state)
    }

    fn cells(&self) -> Cells {
        let name = short_name(&self.name);
        let state = self.state.to_owned();
        match &self.content {
            Content::Record(shown) => {
                let left = shown.remaining_ms.filter(|_| self.keeps_out());
                [
                    name,
                    state,
                    left.map_or_else(|| "-".into(), |left| span(Duration::from_millis(left))),
                    shown.token.to_string(),
                    shown.since.clone().unwrap_or_else(|| "?".into()),
                    harmless(&shown.owner),
                ]
            }
            Content::Flaw { error } => [
                name,
                state,
                "-".into(),
                "-".into(),
                "-".into(),
                harmless(error),
            ],
        }
    }
}

pub(super) fn to_json(row: &Row) -> Result<String, Failure> {
    serde_json::to_string_pretty(row).map_err(no_json)
}

pub(crate) fn no_json(error: serde_json::Error) -> Failure {
    Failure::new(Exit::System, "can't write JSON").because(error)
}

/// One line of the table.
type Cells = [String; 6];

/// The state of the output so far, as far as the rest depends on it.
pub(super) enum Rows {
    /// An array; whether it has a row already.
    Json { begun: bool },
    /// The widths of the columns, once there is a row. They only grow: a name that is longer than all
    /// of an earlier page moves the columns behind it.
    Table(Option<[usize; 6]>),
}

impl Rows {
    pub(super) const fn new(json: bool) -> Self {
        if json {
            Self::Json { begun: false }
        } else {
            Self::Table(None)
        }
    }

    /// The text of these rows, which follow those before.
    pub(super) fn page(&mut self, rows: &[Row]) -> Result<String, Failure> {
        let mut text = String::new();
        match self {
            Self::Json { begun } => {
                for row in rows {
                    text.push_str(if *begun { ",\n  " } else { "[\n  " });
                    *begun = true;
                    // A line break in a text is not a line break in JSON.
                    text.push_str(&to_json(row)?.replace('\n', "\n  "));
                }
            }
            Self::Table(widths) if !rows.is_empty() => {
                let heading = ["NAME", "STATE", "LEFT", "TOKEN", "SINCE", "OWNER"];
                let heading = widths.is_none().then(|| heading.map(String::from));
                let lines: Vec<Cells> = heading
                    .into_iter()
                    .chain(rows.iter().map(Row::cells))
                    .collect();
                let widths = widths.get_or_insert([0; 6]);
                for line in &lines {
                    for (width, cell) in widths.iter_mut().zip(line) {
                        *width = (*width).max(cell.chars().count());
                    }
                }
                for line in &lines {
                    let cells = line.iter().zip(&*widths);
                    let cells = cells.map(|(cell, &width)| format!("{cell:width$}"));
                    text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
                    text.push('\n');
                }
            }
            Self::Table(_) => {}
        }
        Ok(text)
    }

    /// The text behind the last row.
    pub(super) fn end(&self) -> String {
        match self {
            Self::Json { begun: true } => "\n]\n",
            Self::Json { begun: false } => "[]\n",
            Self::Table(Some(_)) => "",
            Self::Table(None) => "no locks\n",
        }
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str) -> Row {
        Row::unreadable(&Name::new(name).unwrap(), "why\nnot")
    }

    #[test]
    fn pages_of_json_are_one_array() {
        for pages in [&[][..], &[0], &[1], &[2, 0, 1]] {
            let mut rows = Rows::new(true);
            let mut text = String::new();
            for count in pages {
                let page: Vec<Row> = (0..*count).map(|_| row("a")).collect();
                text.push_str(&rows.page(&page).unwrap());
            }
            text.push_str(&rows.end());
            let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
            let array = parsed.as_array().unwrap();
            assert_eq!(array.len(), pages.iter().sum::<usize>(), "{text}");
            assert!(array.iter().all(|row| row["error"] == "why\nnot"), "{text}");
        }
    }

    #[test]
    fn table_has_one_heading_and_columns_that_only_grow() {
        let mut rows = Rows::new(false);
        let first = rows.page(&[row("a long name")]).unwrap();
        let second = rows.page(&[row("b")]).unwrap();
        let column = |text: &str| text.lines().last().unwrap().find("unreadable");
        assert_eq!(column(&first), column(&second));
        assert!(first.starts_with("NAME ") && !second.contains("NAME"));
        assert_eq!(rows.end() + &rows.page(&[]).unwrap(), "");
    }
}
