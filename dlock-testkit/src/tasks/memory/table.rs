//! The rows of the table of tasks, and what follows from a row and the time.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use dlock_core::Record;
use dlock_tasks::{ClaimKey, FailedAttempt, NewTask, State, TaskId};
use serde_json::Value;

use super::until;

/// All tasks, including those that have ended.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Table {
    pub rows: BTreeMap<TaskId, Row>,
    /// The newest number, and the newest token: none is used twice, and both only grow (T1).
    pub last_id: i64,
    pub last_token: u64,
    /// The newest instant served, for each schedule.
    pub schedules: BTreeMap<String, SystemTime>,
    /// The paused queues, each with the time of its pause.
    pub paused: BTreeMap<String, SystemTime>,
    /// How many tasks of a queue may run at a time, where there is a limit.
    pub limits: BTreeMap<String, u32>,
}

/// A task.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    pub id: TaskId,
    pub new: NewTask,
    pub run_at: SystemTime,
    pub enqueued_at: SystemTime,
    /// The attempts so far, including the one in progress.
    pub attempt: u32,
    /// The newest claim: none before the first one and after a retry.
    pub term: Option<Term>,
    pub checkpoint: Option<Value>,
    /// The number of the newest checkpoint of this claim.
    pub checkpoints: u64,
    pub errors: Vec<FailedAttempt>,
    /// The newest claim that ended by its own ending, and the state that the task was left in.
    pub left: Option<(ClaimKey, State)>,
    /// How the task ended, if it has.
    pub done: Option<Done>,
}

/// The lease of a claim, under the rules of a lock's record.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Term {
    /// Without the remaining time, which depends on when the record is read.
    pub record: Record,
    pub expiry: SystemTime,
}

/// How a task ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Done {
    pub state: State,
    pub output: Option<Value>,
    pub at: SystemTime,
    /// It ended by the ending of its newest claim.
    pub own: bool,
}

impl Row {
    /// A task that has not been claimed.
    pub(super) fn new(id: TaskId, new: &NewTask, run_at: SystemTime, now: SystemTime) -> Self {
        Self {
            id,
            new: new.clone(),
            run_at,
            enqueued_at: now,
            attempt: 0,
            term: None,
            checkpoint: None,
            checkpoints: 0,
            errors: Vec::new(),
            left: None,
            done: None,
        }
    }

    /// States are derived.
    #[must_use]
    pub fn state(&self, now: SystemTime) -> State {
        match (&self.done, self.held()) {
            (Some(done), _) => done.state,
            (None, Some(term)) if term.expiry <= now => State::Stalled,
            (None, Some(_)) => State::Running,
            (None, None) if self.run_at > now => State::Scheduled,
            (None, None) => State::Ready,
        }
    }

    /// The claim of the worker that has the task, or had it when its lease ended.
    #[must_use]
    pub fn held(&self) -> Option<&Term> {
        self.term.as_ref().filter(|term| !term.record.released)
    }

    /// Whether its newest claim is this one: by identity *and* token.
    #[must_use]
    pub fn is_of(&self, key: &ClaimKey) -> bool {
        let record = self.term.as_ref().map(|term| &term.record);
        record.is_some_and(|record| record.uuid == key.uuid && record.token == key.token)
    }

    /// Whether its worker was asked to stop (B3).
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.held().is_some_and(|term| term.record.asked)
    }

    /// An attempt that failed, the newest ten of which are kept.
    pub(super) fn failed(&mut self, failed: FailedAttempt) {
        self.errors.push(failed);
        let old = self.errors.len().saturating_sub(FailedAttempt::KEPT);
        self.errors.drain(..old);
    }

    /// A handler has answered: the lost attempts before that no longer directly precede the next one.
    pub(super) fn answered(&mut self) {
        if let Some(last) = self.errors.last_mut() {
            last.lost = 0;
        }
    }

    /// Ends the term (L1); the task is due again at `run_at`.
    pub(super) fn free(&mut self, run_at: SystemTime, now: SystemTime) -> State {
        let id = self.id;
        let key = self.term.as_mut().map(|Term { record, .. }| {
            record.released = true;
            ClaimKey::new(id, record.uuid, record.token)
        });
        self.run_at = run_at;
        let state = self.state(now);
        self.left = key.map(|key| (key, state));
        state
    }

    /// Ends the term as if the attempt had not happened.
    pub(super) fn give_back(&mut self, run_at: SystemTime, now: SystemTime) -> State {
        self.attempt = self.attempt.saturating_sub(1);
        self.free(run_at, now)
    }

    /// Ends the task. `own`: by the ending of its claim.
    pub(super) fn end(
        &mut self,
        state: State,
        output: Option<Value>,
        own: bool,
        now: SystemTime,
    ) -> State {
        self.done = Some(Done {
            state,
            output,
            at: now,
            own,
        });
        state
    }
}

impl Term {
    /// The record as a reply made now shows it.
    pub(super) fn shown(&self, now: SystemTime) -> Record {
        let mut record = self.record.clone();
        let left = until(self.expiry, now).as_micros().div_ceil(1000);
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(u64::MAX));
        record.remaining = (!record.released).then(|| left.min(record.duration));
        record
    }
}
