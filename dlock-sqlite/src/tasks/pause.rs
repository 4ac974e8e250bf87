//! Queues that are paused.

use dlock_tasks::PausedQueue;

use super::{
    database::Work,
    row::{instant, micros},
};
use crate::store::Failure;

impl Work<'_> {
    pub(super) fn set_paused(&self, queue: &str, paused: bool) -> Result<(), Failure> {
        let connection = self.connection;
        if paused {
            let mut pause = connection.prepare_cached(include_str!("../sql/tasks/pause.sql"))?;
            pause.execute((queue, micros(self.now())))?;
        } else {
            let mut resume = connection.prepare_cached(include_str!("../sql/tasks/resume.sql"))?;
            resume.execute([queue])?;
        }
        Ok(())
    }

    pub(super) fn is_paused(&self, queue: &str) -> Result<bool, Failure> {
        let paused = self.value(include_str!("../sql/tasks/is_paused.sql"), [queue])?;
        Ok(paused.unwrap_or(false))
    }

    pub(super) fn paused(&self) -> Result<Vec<PausedQueue>, Failure> {
        let sql = include_str!("../sql/tasks/paused.sql");
        let mut statement = self.connection.prepare_cached(sql)?;
        let paused = statement.query_map([], |row| {
            Ok(PausedQueue::new(row.get(0)?, instant(row.get(1)?)))
        })?;
        Ok(paused.collect::<rusqlite::Result<_>>()?)
    }
}
