//! The answers of the database: rows in the order of the request, and the outcomes in them.

use deadpool_postgres::tokio_postgres::Row;
use dlock_core::ProviderError;
use dlock_tasks::{Ended, Enqueued, State};

use super::row;
use crate::{
    error,
    record::{Flaw, optional, value},
};

/// Puts answers, whose first column is their place from 1 on, into the order of the request.
pub(super) fn in_order<T>(
    number: usize,
    rows: &[Row],
    read: impl Fn(&Row) -> Result<T, Flaw>,
) -> Result<Vec<T>, ProviderError> {
    let mut answers = Answers::new(number);
    for row in rows {
        let answer = || Ok((value(row, "place", 0)?, read(row)?));
        let (place, answer) = answer().map_err(|flaw: Flaw| error::bad_answer(&flaw))?;
        answers.put(place, answer)?;
    }
    answers.all()
}

/// The same for the outcomes of endings, where one row may answer many places.
pub(super) fn ended_in_order(number: usize, rows: &[Row]) -> Result<Vec<Ended>, ProviderError> {
    let mut answers = Answers::new(number);
    for row in rows {
        let answer = || Ok((value(row, "places", 0)?, ended(row)?));
        let (places, ended): (Vec<i64>, _) =
            answer().map_err(|flaw: Flaw| error::bad_answer(&flaw))?;
        for place in places {
            answers.put(place, ended)?;
        }
    }
    answers.all()
}

/// Answers by their places.
struct Answers<T>(Vec<Option<T>>);

impl<T> Answers<T> {
    fn new(number: usize) -> Self {
        Self((0..number).map(|_| None).collect())
    }

    fn put(&mut self, place: i64, answer: T) -> Result<(), ProviderError> {
        let place = usize::try_from(place)
            .ok()
            .and_then(|place| place.checked_sub(1));
        match place.and_then(|place| self.0.get_mut(place)) {
            Some(slot) => *slot = Some(answer),
            None => return Err(error::bad_answer("what was not asked for")),
        }
        Ok(())
    }

    fn all(self) -> Result<Vec<T>, ProviderError> {
        let answers: Option<Vec<T>> = self.0.into_iter().collect();
        answers.ok_or_else(|| error::bad_answer("no answer for one of many"))
    }
}

pub(super) fn enqueued(row: &Row) -> Result<Enqueued, Flaw> {
    enqueued_at(row, 1)
}

/// The outcome in two columns from this one on.
pub(super) fn enqueued_at(row: &Row, at: usize) -> Result<Enqueued, Flaw> {
    let id = row::task_id(value(row, "number", at)?)?;
    Ok(if value(row, "is_new", at + 1)? {
        Enqueued::New(id)
    } else {
        Enqueued::Duplicate(id)
    })
}

fn ended(row: &Row) -> Result<Ended, Flaw> {
    let state = state(row, 2)?;
    if value(row, "own", 1)? {
        return state.map(Ended::Own).ok_or_else(|| "no state".into());
    }
    Ok(Ended::Lost(state))
}

/// A state, if there is one.
pub(super) fn state(row: &Row, at: usize) -> Result<Option<State>, Flaw> {
    let word: Option<&str> = optional(row, "state", at)?;
    word.map(str::parse)
        .transpose()
        .map_err(|error: dlock_tasks::NoState| error.to_string())
}
