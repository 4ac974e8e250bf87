//! Which tasks a claim gets, and which no worker gets any more.

use std::time::{Duration, SystemTime};

use dlock_core::{FencingToken, ProviderError, Record};
use dlock_tasks::{Claim, ClaimKey, Claimed, ClaimedTask, FailedAttempt, KeyUntil, State, TaskId};

use super::{
    later, micros,
    table::{Row, Table, Term},
    until,
};

impl Table {
    pub(super) fn claim(
        &mut self,
        claim: &Claim,
        now: SystemTime,
    ) -> Result<Claimed, ProviderError> {
        self.sweep(claim, now);
        let mut ids = Vec::new();
        if claim.again {
            ids = self.in_order(claim, |row| {
                is_of(row, claim) && row.state(now) == State::Running
            }); // A2
        }
        let held = ids.len();
        ids.extend(self.in_order(claim, |row| {
            let due = row.run_at <= now && matches!(row.state(now), State::Ready | State::Stalled); // A4, A5
            let goes_on = !self.paused.contains_key(&row.new.queue);
            let kinds = claim.kinds.as_ref();
            let wanted = kinds.is_none_or(|kinds| kinds.contains(&row.new.kind));
            due && goes_on && wanted && !is_of(row, claim) && !self.waits(row, now) // A3
        }));
        let mut tasks = Vec::new();
        for (place, id) in ids.into_iter().enumerate() {
            // The tasks that it holds are in the answer, however few it asks for now.
            if place >= held {
                if tasks.len() >= claim.max {
                    break;
                }
                if self
                    .rows
                    .get(&id)
                    .is_some_and(|row| self.is_full(&row.new.queue, now))
                {
                    continue;
                }
                self.take(id, claim, now)?;
            }
            tasks.extend(self.rows.get(&id).and_then(claimed));
        }
        let next = if tasks.len() < claim.max {
            self.next(claim, now)
        } else {
            None
        };
        Ok(Claimed::new(tasks, next))
    }

    /// Ends tasks that can no longer be claimed: those that were to be cancelled, and those whose last worker did not
    /// come back.
    fn sweep(&mut self, claim: &Claim, now: SystemTime) {
        let paused = &self.paused;
        let concerned = |row: &&mut Row| {
            claim.queues.contains(&row.new.queue) && !paused.contains_key(&row.new.queue)
        };
        for row in self.rows.values_mut().filter(concerned) {
            let free = matches!(row.state(now), State::Ready | State::Stalled);
            if free && row.is_asked() {
                row.end(State::Cancelled, None, false, now);
            } else if free && row.attempt >= row.new.max_attempts {
                silence(row, now);
                row.end(State::Dead, None, false, now);
            }
        }
    }

    /// Begins a term (T1, T2) and an attempt: it replaces every field of the old term.
    fn take(&mut self, id: TaskId, claim: &Claim, now: SystemTime) -> Result<(), ProviderError> {
        let next = micros(now).max(self.last_token + 1);
        let token = FencingToken::new(next)
            .ok_or_else(|| ProviderError::fatal(format!("{next} is no fencing token")))?;
        let Some(row) = self.rows.get_mut(&id) else {
            return Ok(());
        };
        if row.held().is_some() {
            silence(row, now);
        }
        row.term = Some(Term {
            record: Record::new(claim.uuid, &claim.owner, now, token, claim.lease),
            expiry: later(now, claim.lease),
        });
        row.attempt += 1;
        row.checkpoints = 0;
        if row.new.key_until == KeyUntil::Started {
            row.new.key = None;
        }
        self.last_token = next;
        Ok(())
    }

    /// Whether a task has to wait for another one of its lane: one that runs, or that goes before it. A task that has
    /// begun goes before the others.
    fn waits(&self, row: &Row, now: SystemTime) -> bool {
        let new = &row.new;
        let place = |row: &Row| (row.held().is_none(), row.new.priority, row.run_at, row.id);
        let of_the_lane = |other: &&Row| {
            other.id != row.id && other.new.queue == new.queue && other.new.lane == new.lane
        };
        let mut lane = self.rows.values().filter(of_the_lane);
        new.lane.is_some()
            && lane.any(|other| match other.state(now) {
                State::Running => true,
                State::Stalled | State::Ready => place(other) < place(row),
                _ => false,
            })
    }

    /// Whether a queue runs as many tasks as its limit allows.
    fn is_full(&self, queue: &str, now: SystemTime) -> bool {
        let runs = |row: &&Row| row.new.queue == queue && row.state(now) == State::Running;
        self.limits.get(queue).is_some_and(|limit| {
            let running = self.rows.values().filter(runs).count();
            running >= usize::try_from(*limit).unwrap_or(usize::MAX)
        })
    }

    /// The tasks of a claim's queues, in the order in which they should run.
    fn in_order(&self, claim: &Claim, which: impl Fn(&Row) -> bool) -> Vec<TaskId> {
        let place = |row: &Row| {
            claim
                .queues
                .iter()
                .position(|queue| *queue == row.new.queue)
        };
        let rows = self.rows.values().filter(|row| which(row));
        let mut rows: Vec<_> = rows
            .filter_map(|row| Some((place(row)?, row.new.priority, row.run_at, row.id)))
            .collect();
        rows.sort_unstable();
        rows.into_iter().map(|(.., id)| id).collect()
    }

    /// How long until a task of these queues falls due, or a lease ends.
    fn next(&self, claim: &Claim, now: SystemTime) -> Option<Duration> {
        let rows = self.rows.values().filter(|row| {
            claim.queues.contains(&row.new.queue) && !self.paused.contains_key(&row.new.queue)
        });
        rows.filter_map(|row| match row.state(now) {
            // A full queue gives out no task until a claim has ended.
            State::Scheduled if !self.is_full(&row.new.queue, now) => Some(until(row.run_at, now)),
            State::Running => row.held().map(|term| until(term.expiry, now)),
            _ => None,
        })
        .min()
    }
}

/// Whether the identity of the newest term is that of this claim.
fn is_of(row: &Row, claim: &Claim) -> bool {
    row.term
        .as_ref()
        .is_some_and(|term| term.record.uuid == claim.uuid)
}

/// Records an attempt whose worker was never heard from again.
fn silence(row: &mut Row, now: SystemTime) {
    let owner = row.held().map_or("", |term| &term.record.owner);
    let silence = FailedAttempt::silence(&row.errors, row.attempt, micros(now), owner);
    row.failed(silence);
}

fn claimed(row: &Row) -> Option<ClaimedTask> {
    let record = &row.term.as_ref()?.record;
    let key = ClaimKey::new(row.id, record.uuid, record.token);
    let new = row.new.clone();
    Some(
        ClaimedTask::new(key, new.queue, new.kind, new.payload)
            .attempt(row.attempt, new.max_attempts)
            .checkpoint(row.checkpoint.clone())
            .lost(FailedAttempt::lost_before(&row.errors, row.attempt)),
    )
}
