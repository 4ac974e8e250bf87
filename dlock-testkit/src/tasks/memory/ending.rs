//! How claims end, and the state that a worker leaves for the next one.

use std::time::SystemTime;

use dlock_tasks::{ClaimKey, Ended, Ending, FailedAttempt, How, Kept, State};
use serde_json::Value;

use super::{later, micros, table::Table};

impl Table {
    pub(super) fn finish(&mut self, ending: &Ending, now: SystemTime) -> Ended {
        let Some(row) = self.rows.get_mut(&ending.key.id) else {
            return Ended::Lost(None);
        };
        let own = row.is_of(&ending.key);
        match &row.done {
            Some(done) if own && done.own => return Ended::Own(done.state), // a repeat
            Some(done) => return Ended::Lost(Some(done.state)),
            None => {}
        }
        match row.left {
            Some((key, state)) if key == ending.key => return Ended::Own(state), // a repeat
            _ if !own || row.held().is_none() => return Ended::Lost(Some(row.state(now))),
            _ => {} // even if its lease is over
        }
        Ended::Own(match &ending.how {
            How::Complete(output) => row.end(State::Succeeded, Some(output.clone()), true, now),
            // No attempt follows this one.
            _ if row.is_asked() => row.end(State::Cancelled, None, true, now),
            How::Fail { error, retry_in } if row.attempt < row.new.max_attempts => {
                row.failed(FailedAttempt::new(row.attempt, micros(now), error));
                row.free(later(now, *retry_in), now)
            }
            How::Fail { error, .. } | How::Discard { error } => {
                row.failed(FailedAttempt::new(row.attempt, micros(now), error));
                row.end(State::Dead, None, true, now)
            }
            How::Snooze(delay) => {
                row.answered();
                row.give_back(later(now, *delay), now)
            }
            _ => row.give_back(row.run_at, now),
        })
    }

    pub(super) fn checkpoint(
        &mut self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
        now: SystemTime,
    ) -> Kept {
        let Some(row) = self.rows.get_mut(&key.id) else {
            return Kept::Lost(None);
        };
        if !row.is_of(key) || row.state(now) != State::Running {
            return Kept::Lost(Some(row.state(now)));
        }
        if number > row.checkpoints {
            row.checkpoints = number;
            row.checkpoint = Some(checkpoint.clone());
        }
        Kept::Kept
    }
}
