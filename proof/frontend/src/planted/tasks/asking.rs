//! Wrong decisions about the contents of a queue: tasks enqueued, cancelled, retried, forgotten.

use std::time::{Duration, SystemTime};

use dlock_core::ProviderError;
use dlock_tasks::{Ages, ClaimKey, Enqueued, KeyUntil, NewTask, Served, State, TaskId, TaskStore};
use dlock_testkit::tasks::memory::table::{Row, Term};
use tokio::task::yield_now;

use super::{
    TaskFlaw as Flaw,
    store::{Claims, PlantedTasks},
};

impl PlantedTasks {
    pub(super) async fn add(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        let mut tasks = tasks.to_vec();
        match self.flaw {
            Some(Flaw::EnqueueIsNotAtomic) => {
                let mut added = Vec::new();
                for task in &tasks {
                    added.extend(self.inner.enqueue(std::slice::from_ref(task)).await?);
                }
                return Ok(added);
            }
            Some(Flaw::EnqueueIsUnchecked) => tasks.retain(|task| task.check().is_ok()),
            Some(Flaw::PayloadIsText) => {
                for task in &mut tasks {
                    let text = task
                        .payload
                        .to_string()
                        .replace(|c: char| !c.is_ascii(), "");
                    task.payload = serde_json::from_str(&text).unwrap_or_default();
                }
            }
            Some(Flaw::KeyStaysDuringTheRun) => {
                for task in &mut tasks {
                    task.key_until = KeyUntil::Ended;
                }
            }
            Some(Flaw::KeyIsInTwoSteps) => {
                let seen = self.rows();
                yield_now().await;
                return self
                    .add_over(&tasks, |row, _| !seen.contains_key(&row.id))
                    .await;
            }
            Some(Flaw::KeyCountsIfReady) => {
                return self
                    .add_over(&tasks, |row, now| row.state(now) == State::Running)
                    .await;
            }
            Some(Flaw::KeyCountsForEver) => return self.add_if_new(tasks, |_, _| true).await,
            Some(Flaw::KeyCountsEverywhere) => {
                let other = |row: &Row, _: &NewTask| row.done.is_none();
                return self.add_if_new(tasks, other).await;
            }
            Some(Flaw::NumbersComeAgain) => self.inner.call(|table, _| {
                let unended = table.rows.values().filter(|row| row.done.is_none());
                table.last_id = unended.map(|row| row.id.get()).max().unwrap_or_default();
            }),
            _ => {}
        }
        let added = self.inner.enqueue(&tasks).await;
        if self.has(Flaw::RefusalUsesNumber) {
            let is_new = |added: &Enqueued| matches!(added, Enqueued::New(_));
            let used = added.iter().flatten().filter(|one| is_new(one)).count();
            let refused = tasks.len() - used;
            self.inner
                .call(|table, _| table.last_id += i64::from(refused > 0));
        }
        added
    }

    /// Adds tasks as if some of the existing ones were not there.
    async fn add_over(
        &self,
        tasks: &[NewTask],
        unseen: impl Fn(&Row, SystemTime) -> bool,
    ) -> Result<Vec<Enqueued>, ProviderError> {
        let hidden: Vec<Row> = self.inner.call(|table, now| {
            let hidden = table
                .rows
                .values()
                .filter(|row| unseen(row, now))
                .cloned()
                .collect();
            table.rows.retain(|_, row| !unseen(row, now));
            hidden
        });
        let added = self.inner.enqueue(tasks).await;
        let back = hidden.into_iter().map(|row| (row.id, row));
        self.inner.call(|table, _| table.rows.extend(back));
        added
    }

    /// Adds tasks, except those whose key belongs to a task that counts, in any queue (in the same queue, if that task
    /// has ended).
    async fn add_if_new(
        &self,
        tasks: Vec<NewTask>,
        counts: impl Fn(&Row, &NewTask) -> bool + Send,
    ) -> Result<Vec<Enqueued>, ProviderError> {
        tasks.iter().try_for_each(|task| task.check().map(drop))?;
        let mut added = Vec::new();
        for task in tasks {
            let rows = self.rows();
            let same = |row: &&Row| {
                let queue = row.done.is_none() || row.new.queue == task.queue;
                let queue =
                    queue && (self.has(Flaw::KeyCountsEverywhere) || row.new.queue == task.queue);
                task.key.is_some() && row.new.key == task.key && queue && counts(row, &task)
            };
            match rows.values().find(same) {
                Some(row) => added.push(Enqueued::Duplicate(row.id)),
                None => added.extend(self.inner.enqueue(&[task]).await?),
            }
        }
        Ok(added)
    }

    pub(super) async fn serve(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        let last = self
            .inner
            .call(|table, _| table.schedules.get(schedule).copied());
        let now = self.inner.now();
        let forget = |to: SystemTime| {
            self.inner
                .call(|table, _| table.schedules.insert(schedule.to_owned(), to));
        };
        let second = Duration::from_secs(1);
        match (self.flaw, last) {
            (Some(Flaw::InstantIsServedTwice), Some(last)) if last == instant => {
                forget(last - second);
            }
            (Some(Flaw::InstantAfterALater), Some(last)) if last > instant => {
                forget(instant - second);
            }
            (Some(Flaw::InstantIsServedEarly), _) if instant > now => {
                let served = self.inner.enqueue_periodic(schedule, now, task).await;
                forget(instant);
                return served;
            }
            (Some(Flaw::EarlyInstantIsKept), Some(_)) if instant > now => forget(instant),
            (Some(Flaw::FirstInstantIsServed), None) => forget(instant - second),
            (Some(Flaw::SchedulesAreOne), _) => {
                return self.inner.enqueue_periodic("one", instant, task).await;
            }
            (Some(Flaw::ScheduleIsInTwoSteps), Some(last)) => {
                yield_now().await;
                forget(last);
            }
            (Some(Flaw::RefusedInstantIsServed), Some(_)) if task.check().is_err() => {
                forget(instant);
            }
            (Some(Flaw::BadScheduleIsKept), _) => {
                let name = format!("a {}", schedule.replace('\0', "0").len());
                return self.inner.enqueue_periodic(&name, instant, task).await;
            }
            _ => {}
        }
        let served = self.inner.enqueue_periodic(schedule, instant, task).await?;
        if let (Served::Enqueued(Enqueued::Duplicate(_)), Some(last)) = (served, last)
            && self.has(Flaw::DuplicateServesNothing)
        {
            forget(last);
        }
        Ok(served)
    }

    pub(super) async fn stop(
        &self,
        id: TaskId,
        force: bool,
    ) -> Result<Option<State>, ProviderError> {
        let force = match self.flaw {
            Some(Flaw::CancelIsByForce) => true,
            Some(Flaw::ForceAsks) => false,
            _ => force,
        };
        if self.has(Flaw::CancelEndsTwice) {
            self.edit(id, |row, _| row.done = None);
        }
        let state = self.inner.cancel(id, force).await?;
        if self.has(Flaw::CancelTellsAfterwards) {
            return Ok(self.edit(id, |row, now| row.state(now)));
        }
        Ok(state)
    }

    pub(super) async fn again(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        let old = self.rows().remove(&id);
        let now = self.inner.now();
        let state = old.as_ref().map(|row| row.state(now));
        match self.flaw {
            Some(Flaw::RetryOfSuccessMoves) if state == Some(State::Succeeded) => {
                self.edit(id, |row, _| {
                    if let Some(done) = &mut row.done {
                        done.state = State::Dead;
                    }
                });
            }
            Some(Flaw::RetryOfWaiting) if state.is_some_and(|state| !state.has_ended()) => {
                return Ok(Some(Enqueued::Duplicate(id)));
            }
            Some(Flaw::RetryIgnoresKey) => {
                self.edit_all(|row, _| {
                    if row.id != id {
                        row.new.key = None;
                    }
                });
            }
            _ => {}
        }
        let again = self.inner.retry(id).await?;
        if let (Some(Enqueued::New(new)), Some(old)) = (again, old) {
            self.count(
                new,
                Claims {
                    number: 0,
                    retried: true,
                },
            );
            self.edit(new, |row, _| match self.flaw {
                Some(Flaw::RetryKeepsClaim) => {
                    row.left = old.term.as_ref().map(|Term { record, .. }| {
                        let key = ClaimKey::new(row.id, record.uuid, record.token);
                        (key, State::Ready)
                    });
                    row.term = old.term;
                    super::ending::set_released(row, true);
                }
                Some(Flaw::RetryKeepsAttempts) => row.attempt = old.attempt,
                Some(Flaw::CopyIsEmpty) if new != id => row.new.payload = serde_json::Value::Null,
                _ => {}
            });
        }
        Ok(again)
    }

    pub(super) async fn forget(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        let (ages, most) = match self.flaw {
            Some(Flaw::PruneTakesYoung) => (Ages::new(Duration::ZERO, Duration::ZERO), most),
            Some(Flaw::PruneMixesAges) => (Ages::new(ages.succeeded, ages.succeeded), most),
            Some(Flaw::PruneIsUnlimited) => (ages, usize::MAX),
            _ => (ages, most),
        };
        let pruned = self.inner.prune(ages, most).await?;
        if self.has(Flaw::PruneTakesLiving) && pruned > 0 {
            self.inner
                .call(|table, _| table.rows.retain(|_, row| row.done.is_some()));
        }
        Ok(pruned)
    }
}
