//! Looks for what lies before the marks, beside claims (K4).

use std::error::Error;

use deadpool_postgres::tokio_postgres::{Row, types::Type};
use tokio::time::Instant;

use super::{
    PostgresTasks,
    marks::{Starts, Turn},
};
use crate::{
    connections::Caller,
    record::{Flaw, value},
};

impl PostgresTasks {
    /// Moves marks back to what there is before them, in a task of its own. Nobody waits for it, and it does nothing
    /// but look: where it fails or ends with its runtime, another one follows.
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
            let began = Instant::now();
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
                    // What cannot be read is found by a claim from the beginning, which says so.
                    for (queue, priority, key) in rows.iter().filter_map(|row| found(row).ok()) {
                        turn.found(queue, priority, key);
                    }
                }
                Err(error) => {
                    tracing::debug!(error = &error as &dyn Error, "no look at earlier tasks");
                }
            }
            turn.end(Some(began.elapsed()));
        });
    }
}

fn found(row: &Row) -> Result<(&str, usize, (i64, i64)), Flaw> {
    let priority: i32 = value(row, "priority", 1)?;
    let priority = usize::try_from(priority).map_err(|error| error.to_string())?;
    let key = (value(row, "instant", 2)?, value(row, "number", 3)?);
    Ok((value(row, "queue", 0)?, priority, key))
}
