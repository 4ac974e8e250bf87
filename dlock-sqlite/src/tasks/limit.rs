//! Queues with a limit on how many of their tasks run at a time.

use std::{collections::BTreeMap, time::Duration};

use dlock_core::FencingToken;
use dlock_tasks::TaskId;

use super::{claim::pass_over, database::Work};
use crate::{requests::integer, store::Failure};

/// The running tasks of a queue with a limit.
pub(super) struct Places {
    /// How many more tasks may run.
    pub(super) free: usize,
    /// When the first of the leases that hold a place ends.
    pub(super) ends: Option<Duration>,
}

impl Work<'_> {
    pub(super) fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), Failure> {
        let run = |sql: &str| -> Result<(), Failure> {
            self.connection.prepare_cached(sql)?.execute([queue])?;
            Ok(())
        };
        let Some(limit) = limit else {
            run(include_str!("../sql/tasks/unlimit.sql"))?;
            return run(include_str!("../sql/tasks/empty_slots.sql"));
        };
        let was_limited = self.value(include_str!("../sql/tasks/is_limited.sql"), [queue])?;
        if was_limited != Some(true) {
            run(include_str!("../sql/tasks/fill_slots.sql"))?;
        }
        let sql = include_str!("../sql/tasks/limit.sql");
        self.change(sql, (queue, limit))
    }

    /// The limits, by queue.
    pub(super) fn limits(&self) -> Result<BTreeMap<String, u32>, Failure> {
        let sql = include_str!("../sql/tasks/limits.sql");
        let mut statement = self.connection.prepare_cached(sql)?;
        let limits = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(limits.collect::<rusqlite::Result<_>>()?)
    }

    /// The running tasks of a queue with this limit.
    pub(super) fn running(&self, queue: &str, limit: u32) -> Result<Places, Failure> {
        let mut free = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut ends = None;
        self.walk(
            include_str!("../sql/tasks/slots.sql"),
            [queue],
            |row, now| {
                match self.seat_of(row, now) {
                    Ok(seat) if seat.is_free() => {}
                    Ok(seat) => {
                        free = free.saturating_sub(1);
                        let left = seat.holder().and_then(|record| record.remaining);
                        ends = ends.into_iter().chain(left).min();
                    }
                    Err(failure) => pass_over(failure)?,
                }
                Ok(true)
            },
        )?;
        Ok(Places { free, ends })
    }

    /// Records a new claim of a queue with a limit.
    pub(super) fn hold_place(
        &self,
        queue: &str,
        id: TaskId,
        token: FencingToken,
    ) -> Result<(), Failure> {
        let sql = include_str!("../sql/tasks/free_slots.sql");
        self.connection.prepare_cached(sql)?.execute([queue])?;
        let parameters = (queue, id.get(), integer(token.get()));
        self.change(include_str!("../sql/tasks/slot.sql"), parameters)
    }
}
