//! The tasks that a claim gets.

use dlock_core::{FencingToken, ProviderError};
use dlock_tasks::{
    Claim, ClaimKey, Claimed, ClaimedTask, DEAD_IN_A_CLAIM, Enqueued, FailedAttempt, KeyUntil,
    NewTask, State, TaskId, When,
};
use rusqlite::Row;
use serde_json::Value;
use std::time::{Duration, UNIX_EPOCH};

use super::{
    database::Work,
    failed::{text, with_error, with_silence},
    row::{Seat, Task, later, micros},
};
use crate::{
    clock::{Now, StoreClock},
    requests::{integer, millis},
    store::Failure,
};

/// A clock that was further ahead than this when it enqueued a task was wrong.
const AHEAD: Duration = Duration::from_secs(1);

/// The result of a walk over the due tasks of one priority.
#[derive(Default)]
struct Due {
    /// Free, in the order in which they should run.
    free: Vec<TaskId>,
    /// Those that can no longer be claimed: to be cancelled, or out of attempts.
    over: Vec<TaskId>,
    /// When the first of the leases ends that other claims have on due tasks.
    ends: Option<Duration>,
}

impl Work<'_> {
    pub(super) fn enqueue(
        &self,
        tasks: &[NewTask],
        texts: &[String],
    ) -> Result<Vec<Enqueued>, Failure> {
        let now = micros(self.now());
        let add = |(task, text): (&NewTask, &String)| self.add(task, text, now);
        tasks.iter().zip(texts).map(add).collect()
    }

    pub(super) fn add(&self, task: &NewTask, text: &str, now: i64) -> Result<Enqueued, Failure> {
        let run_at = match task.when {
            When::In(delay) => later(now, delay),
            When::At(instant) => instant
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| later(0, since)),
            _ => now,
        };
        let parameters = rusqlite::params![
            task.queue,
            task.priority,
            run_at,
            task.max_attempts,
            task.kind,
            task.key,
            text,
            now,
            task.lane,
            task.key_until == KeyUntil::Started
        ];
        match self.value(include_str!("../sql/tasks/enqueue.sql"), parameters)? {
            Some(id) => Ok(Enqueued::New(self.id(id)?)),
            None => self.of_key(&task.queue, task.key.as_deref()),
        }
    }

    /// The task that already has this key.
    pub(super) fn of_key(&self, queue: &str, key: Option<&str>) -> Result<Enqueued, Failure> {
        let found = self.value(include_str!("../sql/tasks/by_key.sql"), (queue, key))?;
        // It existed earlier in this transaction.
        let id = found.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        Ok(Enqueued::Duplicate(self.id(id)?))
    }

    /// When there may be something to claim, if there is nothing now and the claim holds nothing: a read without the
    /// write lock, which is all that an idle worker needs.
    pub(super) fn nothing_until(&self, claim: &Claim) -> Result<Option<Claimed>, Failure> {
        if claim.again {
            return Ok(None);
        }
        let (mut next, limits) = (None, self.limits()?);
        for queue in &claim.queues {
            let sql = include_str!("../sql/tasks/is_early.sql");
            if self.value(sql, (queue, later(micros(self.now()), AHEAD)))? == Some(true) {
                return Ok(None);
            }
        }
        for (queue, priority) in self.places(claim)? {
            if let Some(limit) = limits.get(queue) {
                let places = self.running(queue, *limit)?;
                if places.free == 0 {
                    next = sooner(next, places.ends);
                    continue;
                }
            }
            let (due, now) = self.due(queue, priority, claim, 1)?;
            if !due.free.is_empty() || !due.over.is_empty() {
                return Ok(None);
            }
            next = sooner(next, due.ends);
            next = sooner(next, self.next(queue, priority, now)?);
        }
        Ok(Some(Claimed::new(Vec::new(), next)))
    }

    /// Each queue of a claim that is not paused with each priority, in the order in which tasks run.
    pub(super) fn places<'claim>(
        &self,
        claim: &'claim Claim,
    ) -> Result<impl Iterator<Item = (&'claim str, u8)>, Failure> {
        let mut queues = Vec::new();
        for queue in &claim.queues {
            if !self.is_paused(queue)? {
                queues.push(queue.as_str());
            }
        }
        let with_each = |queue| (0..=NewTask::LAST_PRIORITY).map(move |priority| (queue, priority));
        Ok(queues.into_iter().flat_map(with_each))
    }

    pub(super) fn claim(&self, claim: &Claim) -> Result<Claimed, Failure> {
        let mut tasks = if claim.again {
            self.held(claim)?
        } else {
            Vec::new()
        };
        for queue in &claim.queues {
            let now = micros(self.now());
            let mut early = self
                .connection
                .prepare_cached(include_str!("../sql/tasks/early.sql"))?;
            early.execute((queue, later(now, AHEAD), now))?;
        }
        let limits = self.limits()?;
        loop {
            let (mut next, mut buried) = (None, false);
            for (queue, priority) in self.places(claim)? {
                let mut room = claim.max.saturating_sub(tasks.len());
                if room == 0 {
                    return Ok(Claimed::new(tasks, None));
                }
                let limit = limits.get(queue);
                if let Some(limit) = limit {
                    let places = self.running(queue, *limit)?;
                    room = room.min(places.free);
                    if room == 0 {
                        next = sooner(next, places.ends);
                        continue;
                    }
                }
                let (due, now) = self.due(queue, priority, claim, room)?;
                for id in due.over {
                    buried |= self.bury(id)?;
                }
                for id in due.free {
                    let Some(task) = self.take(id, claim)? else {
                        buried |= self.outcome(id)?.is_some();
                        continue;
                    };
                    if limit.is_some() {
                        self.hold_place(queue, id, task.key.token)?;
                        // The place may have been the last one.
                        next = sooner(next, Some(claim.lease));
                    }
                    tasks.push(task);
                }
                next = sooner(next, due.ends);
                next = sooner(next, self.next(queue, priority, now)?);
            }
            // Others of its lane may have waited for the task that was buried, and it took the place of others.
            if !buried {
                return Ok(Claimed::new(tasks, next));
            }
        }
    }

    /// The tasks that a claim without an answer holds (A2).
    fn held(&self, claim: &Claim) -> Result<Vec<ClaimedTask>, Failure> {
        let mut tasks = Vec::new();
        let uuid = claim.uuid.to_string();
        self.each(include_str!("../sql/tasks/claimed.sql"), [uuid], |task| {
            let holder = task
                .holder()
                .filter(|_| !task.is_free() && task.flaw.is_none());
            if let Some(record) = holder {
                let key = ClaimKey::new(task.id, claim.uuid, record.token);
                let errors = task.errors.clone();
                tasks.push(claimed(key, task, &errors));
            }
            Ok(true)
        })?;
        Ok(tasks)
    }

    fn due(
        &self,
        queue: &str,
        priority: u8,
        claim: &Claim,
        room: usize,
    ) -> Result<(Due, Now), Failure> {
        let mut due = Due::default();
        let is_due = micros(self.now());
        let parameters = (queue, priority, is_due, kinds(claim));
        let now = self.walk(
            include_str!("../sql/tasks/due.sql"),
            parameters,
            |row, now| {
                let seat = match self.seat_of(row, now) {
                    Ok(seat) => seat,
                    Err(failure) => return pass_over(failure).map(|()| true),
                };
                // A uuid that was used begins no second term (A3).
                let record = seat.record.as_ref();
                let spent = record.is_some_and(|record| record.uuid == claim.uuid);
                if !seat.is_free() {
                    due.ends = sooner(due.ends, seat.holder().and_then(|record| record.remaining));
                } else if seat.is_over() {
                    due.over.push(seat.id);
                } else if !spent && !self.waits((queue, priority), &seat, row, is_due)? {
                    due.free.push(seat.id);
                }
                Ok(due.free.len() < room)
            },
        )?;
        Ok((due, now))
    }

    /// Whether a free task, of which `due.sql` has found this row, waits for another one of its lane: one that runs, or
    /// that goes before it.
    pub(super) fn waits(
        &self,
        (queue, priority): (&str, u8),
        seat: &Seat,
        row: &Row<'_>,
        is_due: i64,
    ) -> Result<bool, Failure> {
        let (lane, run_at): (Option<String>, i64) = (row.get(14)?, row.get(15)?);
        let Some(lane) = lane else {
            return Ok(false);
        };
        let nobody_has_it = seat.holder().is_none();
        let mut waits = false;
        self.walk(
            include_str!("../sql/tasks/waits.sql"),
            rusqlite::params![
                queue,
                lane,
                seat.id.get(),
                nobody_has_it,
                priority,
                run_at,
                is_due
            ],
            |row, now| {
                match self.seat_of(row, now) {
                    Ok(other) => waits = row.get(14)? || !other.is_free(),
                    // Whether the task runs is unknown.
                    Err(failure) => waits = pass_over(failure).map(|()| true)?,
                }
                Ok(!waits)
            },
        )?;
        Ok(waits)
    }

    /// Ends a task whose last worker did not come back, if it exists.
    fn bury(&self, id: TaskId) -> Result<bool, Failure> {
        let (task, now) = match self.find(id) {
            Ok((Some(task), now)) => (task, now),
            Ok((None, _)) => return Ok(false),
            Err(failure) => return pass_over(failure).map(|()| false),
        };
        let errors = with_silence(&task, now);
        let (state, errors) = match task.holder() {
            Some(record) if record.asked => (State::Cancelled, task.errors.clone()),
            _ => {
                let (task, queue, kind, attempts) = (id, &task.queue, &task.kind, task.attempt);
                tracing::error!(%task, queue, kind, attempts, "{DEAD_IN_A_CLAIM}");
                (State::Dead, errors)
            }
        };
        self.end(&task, state, None, None, &errors, now)?;
        Ok(true)
    }

    /// Begins a term (T1, T2) and an attempt. A task that no worker can read ends instead: another attempt could not
    /// read it either.
    fn take(&self, id: TaskId, claim: &Claim) -> Result<Option<ClaimedTask>, Failure> {
        let (mut task, now) = match self.find(id) {
            Ok((Some(task), now)) => (task, now),
            Ok((None, _)) => return Ok(None),
            Err(failure) => return pass_over(failure).map(|()| None),
        };
        if let Some(flaw) = &task.flaw {
            let errors = with_error(&task, now, flaw);
            self.end(&task, State::Dead, None, None, &errors, now)?;
            return Ok(None);
        }
        let next = (task.token + 1).max(now.unix_micros);
        let token = FencingToken::new(next).ok_or_else(|| {
            Failure::Answer(ProviderError::fatal(format!(
                "the next fencing token of task {} would be {next}, and tokens end at {}: set this machine's clock",
                task.id,
                FencingToken::MAX
            )))
        })?;
        let errors = if task.holder().is_some() {
            with_silence(&task, now)
        } else {
            std::mem::take(&mut task.errors)
        };
        self.change(
            include_str!("../sql/tasks/claim.sql"),
            rusqlite::params![
                task.id.get(),
                claim.uuid.to_string(),
                claim.owner,
                micros(now),
                integer(token.get()),
                integer(millis(claim.lease)),
                self.clock.boot().to_string(),
                StoreClock::expiry(now, claim.lease),
                text(&errors),
            ],
        )?;
        // Separate from the claim: the index of keys is left alone for a task without one.
        if task.key.is_some() {
            self.connection
                .prepare_cached(include_str!("../sql/tasks/start.sql"))?
                .execute([id.get()])?;
        }
        task.seat.attempt += 1;
        let key = ClaimKey::new(id, claim.uuid, token);
        Ok(Some(claimed(key, task, &errors)))
    }

    /// How long until the next task of this priority falls due.
    fn next(&self, queue: &str, priority: u8, now: Now) -> Result<Option<Duration>, Failure> {
        let now = micros(now);
        let due: Option<Option<i64>> = self.value(
            include_str!("../sql/tasks/next.sql"),
            (queue, priority, now),
        )?;
        let wait = |due: i64| Duration::from_micros(u64::try_from(due - now).unwrap_or(0));
        Ok(due.flatten().map(wait))
    }
}

/// One damaged row does not hide the others.
pub(super) fn pass_over(failure: Failure) -> Result<(), Failure> {
    let Failure::Answer(error) = failure else {
        return Err(failure);
    };
    tracing::warn!(
        error = &error as &dyn std::error::Error,
        "a task is passed over"
    );
    Ok(())
}

/// The kinds of a claim as `due.sql` takes them.
pub(super) fn kinds(claim: &Claim) -> Option<String> {
    let kinds = claim.kinds.as_ref();
    kinds.map(|kinds| Value::from(kinds.as_slice()).to_string())
}

fn sooner(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}

fn claimed(key: ClaimKey, task: Task, errors: &[FailedAttempt]) -> ClaimedTask {
    let lost = FailedAttempt::lost_before(errors, task.attempt);
    ClaimedTask::new(key, task.queue, task.kind, task.payload)
        .attempt(task.seat.attempt, task.seat.max_attempts)
        .checkpoint(task.checkpoint)
        .lost(lost)
}
