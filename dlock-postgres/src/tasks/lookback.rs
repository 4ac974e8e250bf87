//! Looks for tasks before the cursors, concurrently with claims.

use std::{error::Error, time::Duration};

use super::{
    PostgresTasks,
    cursors::{Starts, Turn},
};
use crate::{
    connections::Caller,
    record::{Flaw, optional, value},
};
use deadpool_postgres::tokio_postgres::{Row, types::Type};

impl PostgresTasks {
    /// Moves cursors back to the tasks before them, in a separate task. No caller waits for it, and it only reads: if it
    /// fails or ends with its runtime, another one follows.
    pub(super) fn look_before(
        &self,
        turn: Turn,
        queues: &[&str],
        (instants, numbers): Starts,
        kinds: Option<Vec<String>>,
    ) {
        let own = self.clone();
        let queues: Vec<String> = queues.iter().map(|&queue| queue.to_owned()).collect();
        tokio::spawn(async move {
            let rows = own
                .connections
                .query(
                    Caller::Other,
                    &own.statements.before,
                    &[
                        (&queues, Type::TEXT_ARRAY),
                        (&instants, Type::INT8_ARRAY),
                        (&numbers, Type::INT8_ARRAY),
                        (&kinds, Type::TEXT_ARRAY),
                    ],
                )
                .await;
            match rows {
                Ok(rows) => {
                    let mut took = None;
                    for row in &rows {
                        match seen(row) {
                            Ok(Seen::Task(queue, priority, key)) => {
                                turn.found(queue, priority, key);
                            }
                            Ok(Seen::End(span)) => took = Some(span),
                            // A claim from the beginning meets the row too, and reports it.
                            Err(_) => {}
                        }
                    }
                    turn.end(took);
                }
                // The turn counts as one without an answer.
                Err(error) => {
                    tracing::debug!(error = &error as &dyn Error, "no look at earlier tasks");
                }
            }
        });
    }
}

/// A row of the answer.
enum Seen<'a> {
    Task(&'a str, usize, (i64, i64)),
    /// How long the search took.
    End(Duration),
}

fn seen(row: &Row) -> Result<Seen<'_>, Flaw> {
    let instant: i64 = value(row, "instant", 2)?;
    let Some(queue) = optional(row, "queue", 0)? else {
        let micros = u64::try_from(instant).unwrap_or(0);
        return Ok(Seen::End(Duration::from_micros(micros)));
    };
    let priority: i32 = value(row, "priority", 1)?;
    let priority = usize::try_from(priority).map_err(|error| error.to_string())?;
    Ok(Seen::Task(
        queue,
        priority,
        (instant, value(row, "number", 3)?),
    ))
}
