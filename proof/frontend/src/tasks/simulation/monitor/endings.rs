//! How a worker ends its claims (E1 to E3, J1, J2).

use std::time::Duration;

use dlock_core::provider::Release;
use dlock_tasks::{ClaimKey, ClaimName, Ended, Ending, How as Written};

use super::{Life, ProcessId, State};
use crate::tasks::simulation::plan::How;

impl State {
    pub(super) fn ends(&mut self, process: ProcessId, endings: &[Ending]) {
        for ending in endings {
            let key = ending.key;
            self.figures.endings += 1;
            if !self.processes[process.0].unanswered.insert(key) {
                self.figures.endings_repeated += 1;
            }
            if let Err((rule, what)) = self.may_end(process, ending) {
                let (id, token) = (key.id, key.token);
                let how = &ending.how;
                self.complain(rule, format!("task {id}, token {token}: {what}: {how:?}"));
            }
        }
    }

    fn may_end(
        &self,
        process: ProcessId,
        ending: &Ending,
    ) -> Result<(), (&'static str, &'static str)> {
        let of = &self.processes[process.0];
        let is_stopping = matches!(of.life, Life::Stopping(_));
        let Some(held) = self.attempts.get(&ending.key) else {
            // It belongs to a claim that was in flight, or that brought several suspects.
            let is_own = self.granted.get(&ending.key) == Some(&process);
            let is_suspect = is_own && self.suspects.contains(&ending.key);
            return match ending.how {
                Written::GiveBack if is_stopping || is_suspect => Ok(()),
                _ => Err(("J2", "ended by a process that never ran it")),
            };
        };
        if held.process != process {
            return Err(("K5", "another process's claim is ended"));
        }
        if held.is_over {
            return Err(("E3", "it is ended once more after an answer"));
        }
        let right = match (&ending.how, held.answer) {
            (Written::Complete(_), Some(how)) => is_done(how, held.attempt),
            (Written::Fail { retry_in, .. }, Some(How::Panics)) => {
                is_usual(*retry_in, held.attempt)
            }
            (Written::Fail { retry_in, .. }, Some(How::Fails(times, after))) => {
                held.attempt <= times
                    && after.map_or_else(
                        || is_usual(*retry_in, held.attempt),
                        |after| after == *retry_in,
                    )
            }
            (Written::Discard { .. }, Some(How::Discards)) => true,
            (Written::Snooze(time), Some(How::Snoozes(after))) => *time == after,
            // The handler was cut off: by its time-out, or at the end of the grace.
            (Written::Fail { retry_in, .. }, None) => {
                let limit = of.plan.timeout;
                limit.is_some_and(|limit| held.began.elapsed() >= limit)
                    && is_usual(*retry_in, held.attempt)
            }
            (Written::GiveBack, _) => is_stopping,
            _ => false,
        };
        right
            .then_some(())
            .ok_or(("J1", "that is not what its handler answered"))
    }

    pub(super) fn ended(&mut self, process: ProcessId, endings: &[Ending], ended: &[Ended]) {
        for (ending, ended) in endings.iter().zip(ended) {
            self.processes[process.0].unanswered.remove(&ending.key);
            if let Some(held) = self.attempts.get_mut(&ending.key) {
                held.is_over = true;
            }
            self.figures.endings_refused += u64::from(matches!(ended, Ended::Lost(_)));
            self.figures.given_back += u64::from(matches!(ending.how, Written::GiveBack));
        }
    }

    /// A release gives a task back. A worker must not release a task whose handler has finished.
    pub(super) fn releases(&mut self, process: ProcessId, release: &Release) {
        let Ok(name) = ClaimName::try_from(&release.name) else {
            return;
        };
        let key = ClaimKey::new(name.id, release.uuid, name.token);
        let held = self.attempts.get(&key);
        let answered = held.is_some_and(|held| held.answer.is_some() && held.process == process);
        if answered
            && !matches!(self.processes[process.0].life, Life::Over)
            && self.is_calm(process)
        {
            let (id, token) = (key.id, key.token);
            self.complain(
                "J2",
                format!("task {id}, token {token}: what its handler has done is given back"),
            );
        }
    }

    /// A worker that was asked to stop has returned: checks that it did in time, and that the endings of finished tasks
    /// are stored.
    pub(super) fn returned(&mut self, process: ProcessId) {
        let of = &self.processes[process.0];
        let Life::Stopping(since) = of.life else {
            return;
        };
        let (took, in_time) = (since.elapsed(), of.plan.grace + of.plan.lease);
        let most = of.plan.lease + 2 * of.plan.grace;
        if took > most + Duration::from_millis(5) {
            self.complain(
                "J2",
                format!("a worker took {took:?} to stop, not {most:?}"),
            );
        }
        let in_time = took < in_time;
        self.processes[process.0].life = Life::Over;
        let forgotten = self
            .attempts
            .iter()
            .find(|(_, held)| held.process == process && held.answer.is_some() && !held.is_over);
        if let (true, Some((key, _))) = (in_time, forgotten) {
            let (id, token) = (key.id, key.token);
            self.complain(
                "J2",
                format!(
                    "task {id}, token {token}: its ending was not written until there was an answer"
                ),
            );
        }
        if self.is_calm(process) {
            self.nothing_left(process, "it has stopped");
        }
    }

    /// Checks that nothing is held by this process. If a fault has struck it, a claim for which no worker waits any
    /// more may still be in flight; then only claims that had a handler are checked.
    pub(super) fn nothing_left(&mut self, process: ProcessId, after: &str) {
        let calm = self.is_calm(process);
        let holds = |key: &ClaimKey| {
            self.granted.get(key) == Some(&process) && (calm || self.attempts.contains_key(key))
        };
        let left = self.store.call(|table, now| {
            let mut rows = table.rows.values().filter(|row| row.done.is_none());
            rows.find_map(|row| {
                let term = row.held().filter(|term| term.expiry > now)?;
                let key = ClaimKey::new(row.id, term.record.uuid, term.record.token);
                holds(&key).then_some(row.id)
            })
        });
        if let Some(id) = left {
            self.complain(
                "L1",
                format!("task {id} is held by a process after {after}"),
            );
        }
    }
}

/// Whether the attempt with this number completes the task.
pub(in crate::tasks::simulation) fn is_done(how: How, attempt: u32) -> bool {
    match how {
        How::Fails(times, _) => attempt > times,
        How::Panics => attempt > 1,
        How::Discards => false,
        How::Succeeds | How::Steps(_) | How::Snoozes(_) | How::Hangs => true,
    }
}

/// K9: two seconds, doubled with each attempt, an hour at most, a quarter more or less.
fn is_usual(wait: Duration, attempt: u32) -> bool {
    let whole = Duration::from_secs(2_u64.saturating_pow(attempt).min(3600));
    wait >= whole * 3 / 4 && wait <= whole * 5 / 4
}
