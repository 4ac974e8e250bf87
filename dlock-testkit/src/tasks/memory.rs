//! The reference task store: the rules of the contract in memory, for tests of code that uses a queue, and as a
//! readable model of a store's answers. A table of tasks decides the answers; each of its methods is one call:
//! `claiming`, `leases` (R and L of a lock's rules), `ending`, `keeping` and `showing`. No code there locks, waits or
//! reads a clock.

mod claiming;
mod ending;
mod keeping;
mod leases;
mod showing;
#[doc(hidden)]
pub mod table;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Durability, Release, ReleaseOutcome,
        Renew, RenewOutcome, Sharing, Wakeup, WakeupSender, Wakeups,
    },
};
use dlock_tasks::{
    Ages, Claim, ClaimKey, ClaimName, Claimed, Count, Ended, Ending, Enqueued, Filter, Kept,
    LimitedQueue, NewTask, PausedQueue, Served, State, Task, TaskId, TaskStore, limits,
};
use serde_json::Value;
use tokio::time::Instant;

use self::table::Table;

/// A queue in this process's memory; clones share it. It passes the suite, and loses everything when it is dropped.
///
/// Its clock starts at the machine's time and advances as [`tokio::time::Instant`] does: in a test with paused time,
/// leases end and tasks fall due on the test's time, which jumps ahead as soon as every task of the runtime sleeps.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_tasks::{NewTask, TaskStore, When};
/// use dlock_testkit::tasks::memory::MemoryTasks;
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), dlock_core::ProviderError> {
/// let tasks = MemoryTasks::new();
/// let tomorrow = When::In(Duration::from_secs(86_400));
/// let report = NewTask::builder().kind("report").when(tomorrow).build();
/// let added = tasks.enqueue(&[report]).await?;
/// # assert_eq!(added.len(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct MemoryTasks {
    table: Arc<Mutex<Table>>,
    began: Instant,
    began_at: SystemTime,
    claims: Arc<Sharing>,
    /// The listeners, each with its queues.
    listeners: Arc<Mutex<Listeners>>,
}

/// The listeners that want hints, each with its queues.
type Listeners = Vec<(Vec<String>, WakeupSender)>;

impl Default for MemoryTasks {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryTasks {
    /// A queue without tasks, whose clock starts at the machine's time.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "the store's clock begins with the machine's"
    )]
    pub fn new() -> Self {
        Self::starting_at(SystemTime::now())
    }

    /// A queue without tasks, whose clock now shows this time: runs in paused time then have the same tokens.
    #[must_use]
    pub fn starting_at(now: SystemTime) -> Self {
        Self {
            table: Arc::default(),
            began: Instant::now(),
            began_at: now,
            claims: Arc::default(),
            listeners: Arc::default(),
        }
    }

    /// The time on the store's clock.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.began_at + self.began.elapsed()
    }

    /// One call: no other call sees the table meanwhile.
    #[doc(hidden)]
    pub fn call<T>(&self, call: impl FnOnce(&mut Table, SystemTime) -> T) -> T {
        // No call panics between two related changes, so a poisoned table is whole.
        let mut table: MutexGuard<'_, Table> =
            self.table.lock().unwrap_or_else(PoisonError::into_inner);
        call(&mut table, self.now())
    }
}

impl MemoryTasks {
    /// Announces that tasks may be claimable: these were added, or came back.
    fn tell(&self, tasks: impl IntoIterator<Item = TaskId>) {
        let queue_of =
            |id| self.call(|table, _| table.rows.get(&id).map(|row| row.new.queue.clone()));
        self.tell_of(&tasks.into_iter().filter_map(queue_of).collect());
    }

    /// Announces that tasks in these queues may be claimable.
    fn tell_of(&self, queues: &BTreeSet<String>) {
        self.listeners().retain(|(theirs, sender)| {
            let concerns = theirs.iter().any(|queue| queues.contains(queue));
            // A hint that was not read yet stands for this one.
            !concerns || sender.send(Wakeup::Everyone) || !sender.is_closed()
        });
    }

    /// Whether other tasks may wait for the end of this one.
    fn is_waited_for(&self, id: TaskId) -> bool {
        self.call(|table, _| {
            let new = table.rows.get(&id).map(|row| &row.new);
            new.is_some_and(|new| new.lane.is_some() || table.limits.contains_key(&new.queue))
        })
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        let listeners = self.listeners.lock();
        listeners.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task, if one was added.
fn new(enqueued: &Enqueued) -> Option<TaskId> {
    match enqueued {
        Enqueued::New(id) => Some(*id),
        _ => None,
    }
}

#[async_trait]
impl TaskStore for MemoryTasks {
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        limits::many(tasks.len())?;
        tasks.iter().try_for_each(|task| task.check().map(drop))?;
        let add = |table: &mut Table, now| tasks.iter().map(|task| table.add(task, now)).collect();
        let added: Vec<Enqueued> = self.call(add);
        self.tell(added.iter().filter_map(new));
        Ok(added)
    }

    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        limits::schedule(schedule)?;
        task.check()?;
        let served = self.call(|table, now| table.serve(schedule, instant, task, now));
        if let Served::Enqueued(added) = &served {
            self.tell(new(added));
        }
        Ok(served)
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        claim.check()?;
        self.call(|table, now| table.claim(claim, now))
    }

    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        limits::many(endings.len())?;
        endings.iter().try_for_each(|one| one.check().map(drop))?;
        let finish =
            |table: &mut Table, now| endings.iter().map(|one| table.finish(one, now)).collect();
        let ended: Vec<Ended> = self.call(finish);
        let comes_back =
            |ended: &Ended| matches!(ended, Ended::Own(State::Ready | State::Scheduled));
        let concerns_others = |(ending, ended): &(&Ending, &Ended)| {
            comes_back(ended) || self.is_waited_for(ending.key.id)
        };
        let told = endings.iter().zip(&ended).filter(concerns_others);
        self.tell(told.map(|(ending, _)| ending.key.id));
        Ok(ended)
    }

    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        limits::checkpoint(checkpoint)?;
        Ok(self.call(|table, now| table.checkpoint(key, number, checkpoint, now)))
    }

    fn claims(&self) -> Arc<dyn Provider> {
        Arc::new(Claims(self.clone()))
    }

    async fn watch(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        let (sender, wakeups) = Wakeups::channel(1);
        self.listeners().push((claim.queues.clone(), sender));
        Ok(Some(wakeups))
    }

    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError> {
        let cancelled = self.call(|table, now| table.cancel(id, force, now));
        if self.is_waited_for(id) {
            self.tell([id]);
        }
        Ok(cancelled)
    }

    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        let retried = self.call(|table, now| table.retry(id, now));
        self.tell(retried.iter().filter_map(new));
        Ok(retried)
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        Ok(self.call(|table, now| table.task(id, now)))
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        Ok(self.call(|table, now| table.list(filter, now)))
    }

    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        limits::queue(queue)?;
        self.call(|table, now| table.set_paused(queue, paused, now));
        if !paused {
            self.tell_of(&BTreeSet::from([queue.to_owned()]));
        }
        Ok(())
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        Ok(self.call(|table, _| table.paused()))
    }

    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        limits::queue(queue)?;
        limits::limit(limit)?;
        self.call(|table, _| table.set_limit(queue, limit));
        self.tell_of(&BTreeSet::from([queue.to_owned()]));
        Ok(())
    }

    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        Ok(self.call(|table, _| table.limits()))
    }

    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        Ok(self.call(|table, now| table.counts(now)))
    }

    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        Ok(self.call(|table, now| table.prune(ages, most, now)))
    }
}

/// The claims of a queue as leases.
struct Claims(MemoryTasks);

fn name(name: &Name) -> Result<ClaimName, ProviderError> {
    ClaimName::try_from(name).map_err(|error| ProviderError::fatal(error.to_string()))
}

#[async_trait]
impl Provider for Claims {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("memory", Discipline::StoreClock)
            .batch(true)
            .durability(Durability::Volatile)
    }

    async fn acquire(&self, _: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        Err(ProviderError::fatal(
            "a task is claimed by its queue, not acquired by its name: see TaskStore::claim",
        ))
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        request.check()?;
        let name = name(&request.name)?;
        Ok(self.0.call(|table, now| table.renew(name, request, now)))
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let mut outcomes = Vec::new();
        for request in requests {
            outcomes.push(self.renew(request).await);
        }
        outcomes
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        if request.closing.is_some() {
            return Err(ProviderError::fatal(
                "a task is not closed: complete it, or snooze it",
            ));
        }
        let name = name(&request.name)?;
        let released = self.0.call(|table, now| table.release(name, request, now));
        if released.is_released() {
            self.0.tell([name.id]);
        }
        Ok(released)
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let name = self::name(name)?;
        Ok(self.0.call(|table, now| table.record(name, now)))
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.0.claims)
    }
}

impl fmt::Debug for MemoryTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.call(|table, _| table.rows.len());
        f.debug_struct("MemoryTasks")
            .field("tasks", &tasks)
            .finish_non_exhaustive()
    }
}

/// This long after an instant, or the latest possible instant.
fn later(instant: SystemTime, by: Duration) -> SystemTime {
    const NEVER: Duration = Duration::from_secs(1 << 60);
    let end = || SystemTime::UNIX_EPOCH + NEVER;
    instant.checked_add(by).unwrap_or_else(end)
}

/// The time until an instant; zero if it has passed.
fn until(instant: SystemTime, now: SystemTime) -> Duration {
    instant.duration_since(now).unwrap_or_default()
}

/// Unix time in microseconds.
fn micros(instant: SystemTime) -> u64 {
    let since = instant.duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_micros()).unwrap_or(u64::MAX)
}
