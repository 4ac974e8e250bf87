//! A queue in a PostgreSQL database of the user's: the store of [`dlock_tasks`].
//!
//! Its tables, all of whose names begin with `dlock_task`, lie in a database schema of their own beside the user's
//! tables. So a task can be enqueued and completed in the transaction that writes the data it is about
//! ([`enqueue_in`](PostgresTasks::enqueue_in), [`complete_in`](PostgresTasks::complete_in)): both are kept, or
//! neither.
//!
//! ```no_run
//! # // Needs a server.
//! use dlock_postgres::{
//!     deadpool_postgres::tokio_postgres::Client,
//!     tasks::{PostgresTasks, TransactionError},
//! };
//! use dlock_tasks::NewTask;
//! # async fn order(client: &mut Client, tasks: &PostgresTasks) -> Result<(), TransactionError> {
//! let transaction = client.transaction().await?;
//! transaction.execute("INSERT INTO purchase (item) VALUES ('book')", &[]).await?;
//! tasks.enqueue_in(&transaction, &[NewTask::builder().kind("invoice").build()]).await?;
//! transaction.commit().await?;
//! # Ok(()) }
//! ```
//!
//! Programs in other languages do the same with SQL, here in the database schema `dlock`:
//!
//! ```sql
//! SELECT dlock.dlock_enqueue('default', 'invoice', '{"item": "book"}', run_at => now() + interval '1 hour');
//! SELECT dlock.dlock_complete(17, '3c8f..', 1795494308878643, '{"number": 4}');
//! ```
//!
//! A completion by a claim that is over raises an error (its code is `LK001`), so the transaction cannot commit.
//!
//! What decides that a lease is over and that a task falls due is the server's clock. A row that somebody's
//! transaction keeps locked is given to nobody, and its heartbeats fail until that transaction ends: keep
//! transactions that complete tasks or leave checkpoints much shorter than the lease.
//!
//! # Lanes and limits
//! A claim that gives out a task of a [lane](dlock_tasks::NewTask::lane) holds an advisory lock of PostgreSQL until it is
//! committed, whose number is a hash of schema, queue and lane. It has to run in a transaction that is `READ COMMITTED`, as
//! they are unless `default_transaction_isolation` says otherwise: in others it is an error.
//!
//! Claims of a queue with a [limit](TaskStore::set_limit) hold such a lock of the queue, and wait for each other, for 2 s at
//! most. To set a limit waits for all claims of the schema that are under way, and keeps new ones waiting meanwhile: a
//! moment, or where the queue has no limit yet as long as it takes to look at all of its tasks.
//!
//! # What comes late
//! The claims of a process begin after the last task that it has claimed of each queue and priority. So tasks that run or
//! have ended cost them nothing, also while a transaction that stays open for long, a dump for one, keeps the server from
//! clearing away what has ended. What comes to be ready before that place was given back, left by a worker that died,
//! enqueued for an instant in the past, or committed later than others. It is found
//! - by the next claim that has room for it, if it fell due within the last second, or as long as the queue can be looked
//!   through in some milliseconds;
//! - otherwise within a second and 21 times what it takes to look through the queue, which is done beside the claims:
//!   5 s with a million ended tasks that are not cleared away.
//!
//! Claims of queues with lanes or limits look from the beginning, and are slow as long as such a transaction is open.
//!
//! # Wake-ups
//! A worker whose store was built with [`listen`](PostgresTasksBuilder::listen) starts a task milliseconds after the
//! commit that made it ready; others find it with their next poll. The transaction that enqueues tells them with `NOTIFY`, on
//! the channel `dlock_task`, also in SQL and in transactions of its own; among transactions that begin within 20 ms one at a
//! time does so, since each that does makes the commits of the others that do wait for its own. What that leaves out is
//! found 40 ms later. If a transaction goes on for longer than that, it is found with the next poll: within a second, or
//! once more the time that the transaction went on for, 5 s at most.
//!
//! An idle worker that listens asks the server for tasks every 5 s, and every 20 s whether it still listens.
//!
//! The server refuses to prepare a transaction that has notified (`PREPARE TRANSACTION`). In a session with
//! `SET dlock.hints = off` nobody is told: workers that listen find its tasks within 5 s, unless their
//! [`poll`](dlock_tasks::WorkerBuilder::poll) says otherwise.
//!
//! # Rights
//! A role that uses the queue needs, here as `worker`:
//!
//! ```sql
//! GRANT USAGE ON SCHEMA dlock TO worker;
//! GRANT SELECT, INSERT, UPDATE, DELETE ON dlock.dlock_task, dlock.dlock_task_done TO worker;
//! GRANT SELECT, INSERT, UPDATE ON dlock.dlock_task_schedule TO worker;
//! GRANT SELECT ON dlock.dlock_task_layout, dlock.dlock_task_paused, dlock.dlock_task_limit TO worker;
//! GRANT SELECT, INSERT, UPDATE, DELETE ON dlock.dlock_task_slot, dlock.dlock_task_changed TO worker;
//! GRANT INSERT, UPDATE, DELETE ON dlock.dlock_task_paused, dlock.dlock_task_limit TO worker;
//! GRANT USAGE ON SEQUENCE dlock.dlock_task_id_seq TO worker;
//! ```
//!
//! and EXECUTE on the functions, which everybody has unless it was revoked.

mod answers;
mod beats;
mod before;
mod channel;
mod ending;
mod marks;
mod periodic;
mod requests;
mod row;
mod schema;
mod settings;
mod show;
mod transactions;
mod wakeups;

use std::{
    error::Error,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use deadpool_postgres::tokio_postgres::{Row, types::Type};
use dlock_core::{Provider, ProviderError, provider::Wakeups};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, Count, Ended, Ending, Enqueued, Filter, Kept, LimitedQueue,
    NewTask, PausedQueue, Served, State, Task, TaskId, TaskStore, limits,
};
use serde_json::Value;

use self::{
    answers::{enqueued, enqueued_at, in_order, state},
    beats::Beats,
    channel::Channel,
    marks::Marks,
    requests::{Additions, micros, token},
    schema::{Schema, Statements},
};
use crate::{
    connections::{Caller, Connections, Parameters, bigint, millis},
    error,
    record::{Flaw, optional, value},
    wakeups::Connect,
};

pub use self::{settings::PostgresTasksBuilder, transactions::TransactionError};

/// How often tasks are sent once more whose keys were added or ended by others at the same time.
const MOST_CONFLICTS: usize = 5;

/// A queue in one PostgreSQL database. Cheap to clone; clones share the pool.
///
/// # Panics
/// The methods run in the tokio runtime they are polled in, and panic outside one or in one without a time driver.
///
/// # Cancel safety
/// A future that is dropped before it has a connection has done nothing. One that is dropped later may be applied,
/// at once or when a row that others keep locked becomes free, at most 2 s later unless the network holds it back;
/// its connection is closed.
#[derive(Clone)]
pub struct PostgresTasks {
    connections: Connections,
    schema: Arc<Schema>,
    statements: Arc<Statements>,
    beats: Arc<Beats>,
    marks: Arc<Marks>,
    /// How to open the channel for hints, if there is to be one.
    listen: Option<Connect>,
    channel: Channel,
}

// Not the pool: what it shows of itself is the driver's choice, and it knows a password.
impl fmt::Debug for PostgresTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresTasks")
            .field("schema", &self.schema.name())
            .finish_non_exhaustive()
    }
}

impl PostgresTasks {
    /// One claim; and the endings of those of its tasks that no worker can read.
    async fn claim_once(&self, claim: &Claim) -> Result<(Claimed, Vec<Ending>), ProviderError> {
        let mut queues: Vec<&str> = Vec::new();
        for queue in &claim.queues {
            if !queues.contains(&queue.as_str()) {
                queues.push(queue);
            }
        }
        let look = self.marks.look(&queues);
        // At most 10,000, which was checked.
        let max = i32::try_from(claim.max).unwrap_or(i32::MAX);
        let rows = self
            .connections
            .query(
                Caller::Other,
                &self.statements.claim,
                &[
                    (&queues, Type::TEXT_ARRAY),
                    (&claim.uuid, Type::UUID),
                    (&max, Type::INT4),
                    (&millis(claim.lease), Type::INT8),
                    (&claim.owner, Type::TEXT),
                    (&claim.again, Type::BOOL),
                    (&look.instants, Type::INT8_ARRAY),
                    (&look.numbers, Type::INT8_ARRAY),
                    (&look.may_sweep(), Type::BOOL),
                    (&claim.kinds, Type::TEXT_ARRAY),
                ],
            )
            .await?;
        let (mut tasks, mut unreadable) = (Vec::new(), Vec::new());
        let (mut next, mut swept) = (None, None);
        for row in &rows {
            match row::claimed(row, claim.uuid) {
                Ok(Some(Ok(task))) => {
                    if let Some((priority, key)) = row::key(row, &task) {
                        look.claimed(&task.queue, priority, key);
                    }
                    if row::has_lane(row) {
                        look.found_lane(&task.queue);
                    }
                    tasks.push(task);
                }
                Ok(Some(Err(ending))) => unreadable.push(ending),
                Ok(None) => (next, swept) = row::end_of_claim(row)?,
                // One row that somebody has damaged keeps nobody from the others. It comes again when its lease
                // ends, until it has no attempt left.
                Err(error) => {
                    tracing::warn!(error = &error as &dyn Error, "a task is passed over");
                }
            }
        }
        if tasks.len() < claim.max && swept.is_none() {
            // Earlier tasks are looked for later.
            next = [next, look.again].into_iter().flatten().min();
        }
        if let Some((turn, starts)) = look.end(swept) {
            self.look_before(turn, &queues, starts, claim.kinds.clone());
        }
        Ok((Claimed::new(tasks, next), unreadable))
    }
}

#[async_trait]
impl TaskStore for PostgresTasks {
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        let additions = Additions::new(tasks)?;
        let (statement, parameters) = (&self.statements.enqueue, additions.parameters());
        let mut conflicts = 0;
        loop {
            let answer = self
                .connections
                .query(Caller::Other, statement, &parameters);
            match answer.await {
                // Of a transaction that was rolled back: others added or ended tasks of the same keys meanwhile.
                Err(error) if error::is_conflict(&error) && conflicts < MOST_CONFLICTS => {
                    conflicts += 1;
                }
                answer => return in_order(tasks.len(), &answer?, enqueued),
            }
        }
    }

    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        self.serve(schedule, instant, task).await
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        claim.check()?;
        let (mut rest, mut tasks) = (claim.clone(), Vec::new());
        loop {
            let (claimed, unreadable) = match self.claim_once(&rest).await {
                Ok(claimed) => claimed,
                Err(error) if tasks.is_empty() => return Err(error),
                Err(_) => return Ok(Claimed::new(tasks, Some(Duration::ZERO))),
            };
            tasks.extend(claimed.tasks);
            if unreadable.is_empty() {
                return Ok(Claimed::new(tasks, claimed.next));
            }
            // Another attempt would read no more of them.
            if let Err(error) = self.end(&unreadable).await {
                tracing::warn!(
                    error = &error as &dyn Error,
                    "tasks that cannot be read are not ended yet"
                );
                return Ok(Claimed::new(tasks, claimed.next));
            }
            if tasks.len() == claim.max {
                return Ok(Claimed::new(tasks, None));
            }
            (rest.max, rest.again) = (claim.max - tasks.len(), false);
        }
    }

    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        self.end(endings).await
    }

    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        let text = limits::checkpoint(checkpoint)?;
        let row = self
            .connections
            .query_one(
                Caller::Holder,
                &self.statements.checkpoint,
                &[
                    (&key.id.get(), Type::INT8),
                    (&key.uuid, Type::UUID),
                    (&token(key.token), Type::INT8),
                    (&bigint(number), Type::INT8),
                    (&text, Type::TEXT),
                ],
            )
            .await?;
        let kept = || -> Result<Kept, Flaw> {
            if value(&row, "kept", 0)? {
                return Ok(Kept::Kept);
            }
            state(&row, 1).map(Kept::Lost)
        };
        kept().map_err(|flaw| error::bad_answer(&flaw))
    }

    fn claims(&self) -> Arc<dyn Provider> {
        Arc::clone(&self.beats) as Arc<dyn Provider>
    }

    async fn watch(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        match &self.listen {
            Some(connect) => self.listen(connect, &claim.queues).await.map(Some),
            None => Ok(None),
        }
    }

    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError> {
        let parameters: &Parameters<'_> = &[(&id.get(), Type::INT8), (&force, Type::BOOL)];
        let row = self
            .connections
            .query_one(Caller::Other, &self.statements.cancel, parameters)
            .await?;
        state(&row, 0).map_err(|flaw| error::bad_answer(&flaw))
    }

    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        let row = self
            .connections
            .query_one(
                Caller::Other,
                &self.statements.retry,
                &[(&id.get(), Type::INT8)],
            )
            .await?;
        let retried = || -> Result<Option<Enqueued>, Flaw> {
            let number: Option<i64> = optional(&row, "number", 0)?;
            number.map(|_| enqueued_at(&row, 0)).transpose()
        };
        retried().map_err(|flaw| error::bad_answer(&flaw))
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        self.shown(id).await
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        self.listed(filter).await
    }

    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        limits::queue(queue)?;
        let parameters: &Parameters<'_> = &[(&queue, Type::TEXT), (&paused, Type::BOOL)];
        let done = self
            .connections
            .query_one(Caller::Other, &self.statements.pause, parameters);
        done.await.map(drop)
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        let rows = self
            .connections
            .query(Caller::Other, &self.statements.paused, &[])
            .await?;
        let paused = |row: &Row| -> Result<PausedQueue, Flaw> {
            let (queue, since): (String, SystemTime) =
                (value(row, "queue", 0)?, value(row, "since", 1)?);
            Ok(PausedQueue::new(queue, since))
        };
        let paused: Result<_, Flaw> = rows.iter().map(paused).collect();
        paused.map_err(|flaw| error::bad_answer(&flaw))
    }

    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        limits::queue(queue)?;
        limits::limit(limit)?;
        let most = limit.map(i64::from);
        let parameters: &Parameters<'_> = &[(&queue, Type::TEXT), (&most, Type::INT8)];
        let done =
            self.connections
                .query_one(Caller::Other, &self.statements.set_limit, parameters);
        done.await.map(drop)
    }

    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        let rows = self
            .connections
            .query(Caller::Other, &self.statements.limits, &[])
            .await?;
        let limited = |row: &Row| -> Result<LimitedQueue, Flaw> {
            let most: i64 = value(row, "most", 1)?;
            let limit = u32::try_from(most).map_err(|_| format!("a limit is {most}"))?;
            Ok(LimitedQueue::new(value(row, "queue", 0)?, limit))
        };
        let limits: Result<_, Flaw> = rows.iter().map(limited).collect();
        limits.map_err(|flaw| error::bad_answer(&flaw))
    }

    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        let rows = self
            .connections
            .query(Caller::Other, &self.statements.counts, &[])
            .await?;
        let count = |row: &Row| -> Result<Option<Count>, Flaw> {
            let (queue, tasks): (String, i64) = (value(row, "queue", 0)?, value(row, "tasks", 2)?);
            // A state that somebody has damaged is none's.
            let state = state(row, 1).ok().flatten();
            Ok(state.map(|state| Count::new(queue, state, tasks.unsigned_abs())))
        };
        let counts = rows.iter().map(count).filter_map(Result::transpose);
        counts
            .collect::<Result<_, Flaw>>()
            .map_err(|flaw| error::bad_answer(&flaw))
    }

    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        let states = [State::Succeeded, State::Dead, State::Cancelled].map(State::as_str);
        let others = micros(ages.others);
        let ages = [micros(ages.succeeded), others, others];
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let row = self
            .connections
            .query_one(
                Caller::Other,
                &self.statements.prune,
                &[
                    (&states.as_slice(), Type::TEXT_ARRAY),
                    (&ages.as_slice(), Type::INT8_ARRAY),
                    (&most, Type::INT8),
                ],
            )
            .await?;
        let pruned: i64 = value(&row, "number", 0).map_err(|flaw| error::bad_answer(&flaw))?;
        Ok(usize::try_from(pruned).unwrap_or(0))
    }
}
