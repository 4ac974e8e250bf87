//! Manual operations on tasks: cancel, retry, forget.

use dlock_tasks::{Ages, Enqueued, State, TaskId};

use super::{
    database::Work,
    row::{later, micros},
};
use crate::store::Failure;

impl Work<'_> {
    pub(super) fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, Failure> {
        let (task, now) = self.find(id)?;
        let Some(task) = task else {
            return Ok(self.outcome(id)?.map(|(state, _)| state));
        };
        let state = task.state(now);
        if state == State::Running && !force {
            self.change(include_str!("../sql/tasks/ask.sql"), [id.get()])?;
        } else {
            self.end(&task, State::Cancelled, None, None, &task.errors, now)?;
        }
        Ok(Some(state))
    }

    pub(super) fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, Failure> {
        let Some((state, _)) = self.outcome(id)? else {
            return Ok(None);
        };
        let again = if state == State::Succeeded {
            include_str!("../sql/tasks/copy.sql")
        } else {
            include_str!("../sql/tasks/revive.sql")
        };
        let Some(added) = self.value(again, (id.get(), micros(self.now())))? else {
            let task = self.done(id)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
            return self.of_key(&task.queue, task.key.as_deref()).map(Some);
        };
        if state != State::Succeeded {
            self.change(include_str!("../sql/tasks/forget.sql"), [id.get()])?;
        }
        Ok(Some(Enqueued::New(self.id(added)?)))
    }

    pub(super) fn prune(&self, ages: Ages, most: usize) -> Result<usize, Failure> {
        let now = micros(self.now());
        let mut pruned = 0;
        for (state, age) in [
            (State::Succeeded, ages.succeeded),
            (State::Dead, ages.others),
            (State::Cancelled, ages.others),
        ] {
            let room = i64::try_from(most - pruned).unwrap_or(i64::MAX);
            let latest = now.saturating_sub(later(0, age));
            pruned += self
                .connection
                .prepare_cached(include_str!("../sql/tasks/prune.sql"))?
                .execute((state.as_str(), latest, room))?;
        }
        Ok(pruned)
    }
}
