//! The parameters of requests to the database: arrays of one length, one for each parameter.

use std::time::{Duration, UNIX_EPOCH};

use deadpool_postgres::tokio_postgres::types::{ToSql, Type};
use dlock_core::{FencingToken, ProviderError};
use dlock_tasks::{Ending, FailedAttempt, How, KeyUntil, NewTask, When, limits};
use uuid::Uuid;

use crate::connections::bigint;

/// The latest instant and the longest span that are kept, in microseconds: 285 years.
const MOST: u128 = (1 << 53) - 1;

pub(super) fn token(token: FencingToken) -> i64 {
    bigint(token.get())
}

pub(super) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros().min(MOST)).unwrap_or(i64::MAX)
}

/// Tasks to be enqueued.
#[derive(Default)]
pub(super) struct Additions<'a> {
    pub(super) queues: Vec<&'a str>,
    pub(super) priorities: Vec<i32>,
    pub(super) delays: Vec<i64>,
    pub(super) instants: Vec<Option<i64>>,
    pub(super) max_attempts: Vec<i32>,
    pub(super) kinds: Vec<&'a str>,
    pub(super) keys: Vec<Option<&'a str>>,
    pub(super) until_starts: Vec<bool>,
    pub(super) lanes: Vec<Option<&'a str>>,
    pub(super) payloads: Vec<String>,
}

impl<'a> Additions<'a> {
    /// # Errors
    /// `Fatal` if one of them cannot be kept.
    pub(super) fn new(tasks: &'a [NewTask]) -> Result<Self, ProviderError> {
        limits::many(tasks.len())?;
        let mut additions = Self::default();
        for task in tasks {
            additions.payloads.push(task.check()?);
            additions.queues.push(&task.queue);
            additions.priorities.push(task.priority.into());
            let (delay, instant) = match task.when {
                When::In(delay) => (micros(delay), None),
                When::At(instant) => {
                    let since = instant.duration_since(UNIX_EPOCH).unwrap_or_default();
                    (0, Some(micros(since)))
                }
                _ => (0, None),
            };
            additions.delays.push(delay);
            additions.instants.push(instant);
            // At most 1000, which was checked.
            additions
                .max_attempts
                .push(i32::try_from(task.max_attempts).unwrap_or(i32::MAX));
            additions.kinds.push(&task.kind);
            additions.keys.push(task.key.as_deref());
            let until_start = task.key_until == KeyUntil::Started;
            additions.until_starts.push(until_start);
            additions.lanes.push(task.lane.as_deref());
        }
        Ok(additions)
    }

    /// For `query_typed`.
    pub(super) fn parameters(&self) -> [(&(dyn ToSql + Sync), Type); 10] {
        [
            (&self.queues, Type::TEXT_ARRAY),
            (&self.priorities, Type::INT4_ARRAY),
            (&self.delays, Type::INT8_ARRAY),
            (&self.instants, Type::INT8_ARRAY),
            (&self.max_attempts, Type::INT4_ARRAY),
            (&self.kinds, Type::TEXT_ARRAY),
            (&self.keys, Type::TEXT_ARRAY),
            (&self.until_starts, Type::BOOL_ARRAY),
            (&self.lanes, Type::TEXT_ARRAY),
            (&self.payloads, Type::TEXT_ARRAY),
        ]
    }
}

/// Claims to be ended.
#[derive(Default)]
pub(super) struct Endings {
    pub(super) ids: Vec<i64>,
    pub(super) uuids: Vec<Uuid>,
    pub(super) tokens: Vec<i64>,
    pub(super) hows: Vec<&'static str>,
    pub(super) outputs: Vec<Option<String>>,
    pub(super) errors: Vec<Option<String>>,
    pub(super) delays: Vec<Option<i64>>,
}

impl Endings {
    /// # Errors
    /// `Fatal` if an output cannot be kept.
    pub(super) fn new(endings: &[Ending], texts: Texts) -> Result<Self, ProviderError> {
        limits::many(endings.len())?;
        let mut all = Self::default();
        for ending in endings {
            let output = ending.check()?;
            all.outputs.push(match texts {
                Texts::Plain => output,
                Texts::Escaped => output.map(|json| in_ascii(&json, json_escape)),
            });
            all.ids.push(ending.key.id.get());
            all.uuids.push(ending.key.uuid);
            all.tokens.push(token(ending.key.token));
            let (how, error, delay) = match &ending.how {
                How::Complete(_) => ("complete", None, None),
                How::Fail { error, retry_in } => ("fail", Some(error), Some(*retry_in)),
                How::Discard { error } => ("discard", Some(error), None),
                How::Snooze(delay) => ("snooze", None, Some(*delay)),
                _ => ("give back", None, None),
            };
            all.hows.push(how);
            let error = error.map(|error| kept(error));
            all.errors.push(match texts {
                Texts::Plain => error,
                Texts::Escaped => {
                    error.map(|error| in_ascii(&error, |char| char.escape_unicode().to_string()))
                }
            });
            all.delays.push(delay.map(micros));
        }
        Ok(all)
    }

    /// For `query_typed`.
    pub(super) fn parameters(&self) -> [(&(dyn ToSql + Sync), Type); 7] {
        [
            (&self.ids, Type::INT8_ARRAY),
            (&self.uuids, Type::UUID_ARRAY),
            (&self.tokens, Type::INT8_ARRAY),
            (&self.hows, Type::TEXT_ARRAY),
            (&self.outputs, Type::TEXT_ARRAY),
            (&self.errors, Type::TEXT_ARRAY),
            (&self.delays, Type::INT8_ARRAY),
        ]
    }
}

/// How the texts of endings are sent.
#[derive(Clone, Copy)]
pub(super) enum Texts {
    /// As they are.
    Plain,
    /// In ASCII, which every encoding of a database includes: no ending is lost for a character that this one lacks.
    Escaped,
}

fn in_ascii(text: &str, escape: impl Fn(char) -> String) -> String {
    let mut ascii = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_ascii() {
            ascii.push(char);
        } else {
            ascii.push_str(&escape(char));
        }
    }
    ascii
}

/// A character of a text in JSON, as RFC 8259 escapes it.
fn json_escape(char: char) -> String {
    let mut units = [0; 2];
    let units = char.encode_utf16(&mut units).iter();
    units.map(|unit| format!("\\u{unit:04x}")).collect()
}

/// The part of an error that is kept. The server's texts cannot contain a NUL.
fn kept(error: &str) -> String {
    FailedAttempt::new(0, 0, error)
        .error
        .replace('\0', "\u{fffd}")
}
