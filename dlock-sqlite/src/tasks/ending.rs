//! How claims end, and the checkpoints that a worker leaves for the next.

use dlock_tasks::{ClaimKey, Ended, Ending, FailedAttempt, How, Kept, State, TaskId};
use rusqlite::OptionalExtension;

use super::{
    database::Work,
    failed::{text, with_error},
    row::{Task, later, micros},
};
use crate::{clock::Now, requests::integer, store::Failure};

impl Work<'_> {
    /// Ends a claim. `output`: of a completion, as JSON.
    pub(super) fn finish(&self, ending: &Ending, output: Option<&str>) -> Result<Ended, Failure> {
        let key = &ending.key;
        let (task, now) = self.find(key.id)?;
        let Some(task) = task else {
            return self.ended_before(key); // The task has ended.
        };
        let token = integer(key.token.get());
        if let Some((_, state)) = task.left.filter(|(left, _)| {
            *left == token && (task.is_of(key) || task.token != key.token.get())
        }) {
            return Ok(Ended::Own(state)); // A repeat.
        }
        let Some(holder) = task.holder().filter(|_| task.is_of(key)) else {
            return Ok(Ended::Lost(Some(task.state(now)))); // Another claim has it.
        };
        let own = Some(key.token.get());
        let state = match &ending.how {
            How::Complete(_) => {
                self.end(&task, State::Succeeded, output, own, &task.errors, now)?;
                State::Succeeded
            }
            // No attempt comes after this one.
            _ if holder.asked => {
                self.end(&task, State::Cancelled, None, own, &task.errors, now)?;
                State::Cancelled
            }
            How::Fail { error, retry_in } if task.attempt < task.max_attempts => {
                let errors = with_error(&task, now, error);
                let run_at = later(micros(now), *retry_in);
                self.free(&task, run_at, task.attempt, &errors, now)?
            }
            How::Fail { error, .. } | How::Discard { error } => {
                let errors = with_error(&task, now, error);
                self.end(&task, State::Dead, None, own, &errors, now)?;
                State::Dead
            }
            How::Snooze(delay) => {
                let run_at = later(micros(now), *delay);
                let attempt = task.attempt.saturating_sub(1);
                // The handler has answered, so no attempt was lost right before the next one.
                let mut errors = task.errors.clone();
                if let Some(last) = errors.last_mut() {
                    last.lost = 0;
                }
                self.free(&task, run_at, attempt, &errors, now)?
            }
            _ => self.give_back(&task, now)?,
        };
        Ok(Ended::Own(state))
    }

    /// Ends a term (L1) whose attempt does not count.
    pub(super) fn give_back(&self, task: &Task, now: Now) -> Result<State, Failure> {
        let attempt = task.attempt.saturating_sub(1);
        self.free(task, task.run_at, attempt, &task.errors, now)
    }

    fn free(
        &self,
        task: &Task,
        run_at: i64,
        attempt: u32,
        errors: &[FailedAttempt],
        now: Now,
    ) -> Result<State, Failure> {
        let state = scheduled(run_at, now);
        let parameters = (task.id.get(), run_at, attempt, text(errors), state.as_str());
        self.change(include_str!("../sql/tasks/give_back.sql"), parameters)?;
        Ok(state)
    }

    /// Moves a task to those that have ended. `own`: the token of the claim whose ending it is.
    pub(super) fn end(
        &self,
        task: &Task,
        state: State,
        output: Option<&str>,
        own: Option<u64>,
        errors: &[FailedAttempt],
        now: Now,
    ) -> Result<(), Failure> {
        self.change(
            include_str!("../sql/tasks/end.sql"),
            (
                task.id.get(),
                state.as_str(),
                output,
                own.map(integer),
                micros(now),
                text(errors),
            ),
        )?;
        self.change(include_str!("../sql/tasks/gone.sql"), [task.id.get()])
    }

    fn ended_before(&self, key: &ClaimKey) -> Result<Ended, Failure> {
        Ok(match self.outcome(key.id)? {
            Some((state, Some(ending))) if ending == integer(key.token.get()) => Ended::Own(state),
            Some((state, _)) => Ended::Lost(Some(state)),
            None => Ended::Lost(None),
        })
    }

    /// How a task ended, and by which claim's ending.
    pub(super) fn outcome(&self, id: TaskId) -> Result<Option<(State, Option<i64>)>, Failure> {
        let mut statement = self
            .connection
            .prepare_cached(include_str!("../sql/tasks/ended.sql"))?;
        let row = statement
            .query_row([id.get()], |row| {
                Ok((row.get::<_, String>(0)?, row.get(1)?))
            })
            .optional()?;
        row.map(|(state, ending)| {
            let state = state
                .parse()
                .map_err(|_| self.bad_row(id.get(), "its state is none"))?;
            Ok((state, ending))
        })
        .transpose()
    }

    pub(super) fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        text: &str,
    ) -> Result<Kept, Failure> {
        let (task, now) = self.find(key.id)?;
        let Some(task) = task else {
            let state = self.outcome(key.id)?.map(|(state, _)| state);
            return Ok(Kept::Lost(state));
        };
        if !task.is_of(key) || task.holder().is_none() || task.is_free() {
            return Ok(Kept::Lost(Some(task.state(now))));
        }
        if number > task.checkpoints {
            let parameters = (task.id.get(), integer(number), text);
            self.change(include_str!("../sql/tasks/checkpoint.sql"), parameters)?;
        }
        Ok(Kept::Kept)
    }
}

const fn scheduled(run_at: i64, now: Now) -> State {
    if run_at.unsigned_abs() > now.unix_micros {
        State::Scheduled
    } else {
        State::Ready
    }
}
