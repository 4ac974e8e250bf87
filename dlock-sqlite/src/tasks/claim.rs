//! K3: which tasks a claim gets.

use dlock_core::{FencingToken, ProviderError};
use dlock_tasks::{
    Claim, ClaimKey, Claimed, ClaimedTask, Enqueued, FailedAttempt, NewTask, State, TaskId, When,
};
use std::time::{Duration, UNIX_EPOCH};

use super::{
    database::Work,
    row::{Task, later, micros},
};
use crate::{
    clock::{Now, StoreClock},
    requests::{integer, millis},
    store::Failure,
};

/// What a walk over the due tasks of one priority has found.
#[derive(Default)]
struct Due {
    /// Free, in the order in which they should run.
    free: Vec<Task>,
    /// Those that nobody claims any more: to be cancelled, or out of attempts.
    over: Vec<Task>,
    /// When the first of the leases ends that others have on due tasks.
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

    fn add(&self, task: &NewTask, text: &str, now: i64) -> Result<Enqueued, Failure> {
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
            now
        ];
        match self.value(include_str!("../sql/tasks/enqueue.sql"), parameters)? {
            Some(id) => Ok(Enqueued::New(self.id(id)?)),
            None => self.of_key(&task.queue, task.key.as_deref()),
        }
    }

    /// The task that has this key already.
    pub(super) fn of_key(&self, queue: &str, key: Option<&str>) -> Result<Enqueued, Failure> {
        let found = self.value(include_str!("../sql/tasks/by_key.sql"), (queue, key))?;
        // It was there in this transaction.
        let id = found.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        Ok(Enqueued::Duplicate(self.id(id)?))
    }

    pub(super) fn id(&self, id: i64) -> Result<TaskId, Failure> {
        TaskId::new(id).ok_or_else(|| self.bad_row(id, "its number is not positive"))
    }

    pub(super) fn claim(&self, claim: &Claim) -> Result<Claimed, Failure> {
        let mut tasks = if claim.again {
            self.held(claim)?
        } else {
            Vec::new()
        };
        let mut next: Option<Duration> = None;
        let mut sooner = |other: Option<Duration>| next = [next, other].into_iter().flatten().min();
        for queue in &claim.queues {
            for priority in 0..=NewTask::LAST_PRIORITY {
                let room = claim.max.saturating_sub(tasks.len());
                if room == 0 {
                    return Ok(Claimed::new(tasks, None));
                }
                let (due, now) = self.due(queue, priority, claim, room)?;
                for task in &due.over {
                    self.bury(task, now)?;
                }
                for task in due.free {
                    tasks.push(self.take(task, claim, now)?);
                }
                sooner(due.ends);
                sooner(self.next(queue, priority, now)?);
            }
        }
        Ok(Claimed::new(tasks, next))
    }

    /// What a claim that had no answer holds (A2).
    fn held(&self, claim: &Claim) -> Result<Vec<ClaimedTask>, Failure> {
        let mut tasks = Vec::new();
        let uuid = claim.uuid.to_string();
        self.each(include_str!("../sql/tasks/claimed.sql"), [uuid], |task| {
            let task = task?;
            if let Some(record) = task.holder().filter(|_| !task.is_free()) {
                let key = ClaimKey::new(task.id, claim.uuid, record.token);
                tasks.push(claimed(key, task));
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
        let parameters = (queue, priority, micros(self.now()));
        let now = self.each(include_str!("../sql/tasks/due.sql"), parameters, |task| {
            let task = match task {
                Ok(task) => task,
                // One row that somebody has damaged keeps nobody from the others.
                Err(Failure::Answer(error)) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "a task is passed over"
                    );
                    return Ok(true);
                }
                Err(error) => return Err(error),
            };
            // A uuid that is used up begins no second term (A3).
            let spent = task
                .record
                .as_ref()
                .is_some_and(|record| record.uuid == claim.uuid);
            if !task.is_free() {
                let left = task.holder().and_then(|record| record.remaining);
                due.ends = [due.ends, left].into_iter().flatten().min();
            } else if task.holder().is_some_and(|record| record.asked)
                || task.attempt >= task.max_attempts
            {
                due.over.push(task);
            } else if !spent {
                due.free.push(task);
            }
            Ok(due.free.len() < room)
        })?;
        Ok((due, now))
    }

    /// Ends a task whose last worker did not come back.
    fn bury(&self, task: &Task, now: Now) -> Result<(), Failure> {
        let (state, errors) = match task.holder() {
            Some(record) if record.asked => (State::Cancelled, task.errors.clone()),
            _ => (State::Dead, with_silence(task, now)),
        };
        self.end(task, state, None, None, &errors, now)
    }

    /// Begins a term (T1, T2) and an attempt.
    fn take(&self, mut task: Task, claim: &Claim, now: Now) -> Result<ClaimedTask, Failure> {
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
        task.attempt += 1;
        Ok(claimed(ClaimKey::new(task.id, claim.uuid, token), task))
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

fn claimed(key: ClaimKey, task: Task) -> ClaimedTask {
    ClaimedTask::new(key, task.queue, task.kind, task.payload)
        .attempt(task.attempt, task.max_attempts)
        .checkpoint(task.checkpoint)
}

/// The failed attempts of a task, with that of a worker of which nothing was heard.
fn with_silence(task: &Task, now: Now) -> Vec<FailedAttempt> {
    let owner = task.holder().map_or("", |record| &record.owner);
    let error = format!("the lease of worker {owner:?} ran out, and nothing was heard of it");
    with_error(task, now, &error)
}

pub(super) fn with_error(task: &Task, now: Now, error: &str) -> Vec<FailedAttempt> {
    let mut errors = task.errors.clone();
    errors.push(FailedAttempt::new(task.attempt, now.unix_micros, error));
    let old = errors.len().saturating_sub(FailedAttempt::KEPT);
    errors.drain(..old);
    errors
}

pub(super) fn text(errors: &[FailedAttempt]) -> String {
    serde_json::to_string(errors).unwrap_or_else(|_| "[]".to_owned())
}
