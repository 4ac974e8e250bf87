//! Changes of the queue: tasks enqueued, by the clock too, cancelled, retried and forgotten; queues paused and limited.

use std::time::SystemTime;

use dlock_tasks::{Ages, Enqueued, NewTask, Served, State, TaskId, When, limits};

use super::{
    later,
    table::{Row, Table},
    until,
};

impl Table {
    pub(super) fn add(&mut self, new: &NewTask, now: SystemTime) -> Enqueued {
        if let Some(first) = self.of_key(new) {
            return Enqueued::Duplicate(first);
        }
        let run_at = match new.when {
            When::In(delay) => later(now, delay),
            When::At(instant) => instant.max(SystemTime::UNIX_EPOCH),
            _ => now,
        };
        self.last_id += 1;
        let Some(id) = TaskId::new(self.last_id) else {
            unreachable!("numbers begin with 1 and grow by 1")
        };
        self.rows.insert(id, Row::new(id, new, run_at, now));
        Enqueued::New(id)
    }

    /// The task of the same queue and key that has not ended.
    fn of_key(&self, new: &NewTask) -> Option<TaskId> {
        let key = new.key.as_ref()?;
        let mut rows = self.rows.values().filter(|row| row.done.is_none());
        let first =
            rows.find(|row| row.new.queue == new.queue && row.new.key.as_ref() == Some(key));
        first.map(|row| row.id)
    }

    pub(super) fn serve(
        &mut self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
        now: SystemTime,
    ) -> Served {
        if instant > now {
            return Served::NotYet(until(instant, now));
        }
        let last = self.schedules.get(schedule).copied();
        // An instant far ahead was stored by a clock that was wrong.
        if last.is_some_and(|last| last >= instant && last <= later(now, limits::WRONG_CLOCK)) {
            return Served::Before;
        }
        self.schedules.insert(schedule.to_owned(), instant);
        match last {
            Some(_) => Served::Enqueued(self.add(task, now)),
            None => Served::Begun,
        }
    }

    pub(super) fn set_paused(&mut self, queue: &str, paused: bool, now: SystemTime) {
        if paused {
            self.paused.entry(queue.to_owned()).or_insert(now);
        } else {
            self.paused.remove(queue);
        }
    }

    pub(super) fn set_limit(&mut self, queue: &str, limit: Option<u32>) {
        match limit {
            Some(limit) => drop(self.limits.insert(queue.to_owned(), limit)),
            None => drop(self.limits.remove(queue)),
        }
    }

    pub(super) fn cancel(&mut self, id: TaskId, force: bool, now: SystemTime) -> Option<State> {
        let row = self.rows.get_mut(&id)?;
        let state = row.state(now);
        match &mut row.term {
            _ if state.has_ended() => {}
            Some(term) if state == State::Running && !force => term.record.asked = true, // B3
            _ => drop(row.end(State::Cancelled, None, false, now)),
        }
        Some(state)
    }

    pub(super) fn retry(&mut self, id: TaskId, now: SystemTime) -> Option<Enqueued> {
        let row = self.rows.get(&id)?;
        let done = row.done.as_ref()?;
        let mut again = Row::new(id, &row.new, now, now);
        if done.state == State::Succeeded {
            let mut new = row.new.clone();
            new.when = When::Now;
            return Some(self.add(&new, now));
        }
        if let Some(other) = self.of_key(&again.new) {
            return Some(Enqueued::Duplicate(other));
        }
        again.enqueued_at = row.enqueued_at;
        again.checkpoint.clone_from(&row.checkpoint);
        again.errors.clone_from(&row.errors);
        self.rows.insert(id, again);
        Some(Enqueued::New(id))
    }

    pub(super) fn prune(&mut self, ages: Ages, most: usize, now: SystemTime) -> usize {
        let old = |row: &&Row| {
            row.done.as_ref().is_some_and(|done| {
                let age = if done.state == State::Succeeded {
                    ages.succeeded
                } else {
                    ages.others
                };
                later(done.at, age) <= now
            })
        };
        let old = self.rows.values().filter(old).take(most);
        let old: Vec<TaskId> = old.map(|row| row.id).collect();
        old.iter().for_each(|id| drop(self.rows.remove(id)));
        old.len()
    }
}
