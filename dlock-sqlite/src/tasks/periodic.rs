//! One task for each instant of a schedule.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dlock_tasks::{NewTask, Served, limits};

use super::{
    database::Work,
    row::{later, micros},
};
use crate::store::Failure;

impl Work<'_> {
    pub(super) fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
        text: &str,
    ) -> Result<Served, Failure> {
        let since = instant.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (now, instant) = (micros(self.now()), later(0, since));
        if instant > now {
            let wait = u64::try_from(instant - now).unwrap_or(u64::MAX);
            return Ok(Served::NotYet(Duration::from_micros(wait)));
        }
        let last: Option<i64> = self.value(include_str!("../sql/tasks/served.sql"), [schedule])?;
        if last.is_some_and(|last| last >= instant && last <= later(now, limits::WRONG_CLOCK)) {
            return Ok(Served::Before);
        }
        self.change(include_str!("../sql/tasks/serve.sql"), (schedule, instant))?;
        if last.is_none() {
            return Ok(Served::Begun);
        }
        self.add(task, text, now).map(Served::Enqueued)
    }
}
