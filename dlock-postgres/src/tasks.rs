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
//! GRANT SELECT, INSERT, UPDATE, DELETE ON dlock.dlock_task_slot TO worker;
//! GRANT INSERT, UPDATE, DELETE ON dlock.dlock_task_paused, dlock.dlock_task_limit TO worker;
//! GRANT USAGE ON SEQUENCE dlock.dlock_task_id_seq TO worker;
//! ```
//!
//! and EXECUTE on the functions, which everybody has unless it was revoked.

mod beats;
mod before;
mod marks;
mod periodic;
mod requests;
mod row;
mod schema;
mod settings;
mod wakeups;

use std::{error::Error, fmt, sync::Arc, time::SystemTime};

use async_trait::async_trait;
use deadpool_postgres::tokio_postgres::{self, Row, Transaction, types::Type};
use dlock_core::{FencingToken, Provider, ProviderError, provider::Wakeups};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, Count, Ended, Ending, Enqueued, Filter, How, Kept,
    LimitedQueue, NewTask, PausedQueue, Served, State, Task, TaskId, TaskStore, limits,
};
use serde_json::Value;
use tokio::task::JoinSet;

use self::{
    beats::Beats,
    marks::Marks,
    requests::{Additions, Endings, micros, token},
    schema::{Schema, Statements},
};
use crate::{
    connections::{Caller, Connections, Parameters, bigint, millis},
    error,
    record::{Flaw, optional, value},
    wakeups::Connect,
};

pub use self::settings::PostgresTasksBuilder;

/// How many tasks a page has, if nobody says.
const PAGE: usize = 100;

/// How often tasks are sent once more whose keys were added or ended by others at the same time.
const MOST_CONFLICTS: usize = 5;

/// The code of the error that a claim that is over raises in a transaction of the user's, see
/// `sql/tasks/strict.sql`.
const STALE: &str = "LK001";

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
}

/// Why nothing was enqueued or completed in a transaction of the user's. It has to be rolled back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    /// The claim was over: another worker may have the task. What is in the transaction must not be kept, and
    /// the database refuses to commit it.
    #[error(
        "the claim of task {id} with token {token} is over, so its work must not be kept: {}",
        .state.map_or("there is no such task".to_owned(), |state| format!("the task is {state}"))
    )]
    Lost {
        /// The task.
        id: TaskId,
        /// The token of the claim.
        token: FencingToken,
        /// What the task is doing, if it is there.
        state: Option<State>,
    },
    /// A task that cannot be kept, or an answer that cannot be read.
    #[error("{0}")]
    Refused(ProviderError),
    /// The database's error, a serialization failure under the stricter isolation levels among them.
    #[error("the transaction failed")]
    Postgres(#[from] tokio_postgres::Error),
}

impl PostgresTasks {
    /// Adds tasks in a transaction of the caller's: workers see them when it commits. Somebody who enqueues a
    /// task of the same key at the same time waits for that.
    ///
    /// # Errors
    /// [`TransactionError::Refused`]: a task that cannot be kept. [`TransactionError::Postgres`]: the database's.
    ///
    /// # Cancel safety
    /// The transaction owns everything that was done: dropping it undoes it.
    pub async fn enqueue_in(
        &self,
        transaction: &Transaction<'_>,
        tasks: &[NewTask],
    ) -> Result<Vec<Enqueued>, TransactionError> {
        let additions = Additions::new(tasks).map_err(TransactionError::Refused)?;
        let parameters: &Parameters<'_> = &additions.parameters();
        let rows = transaction
            .query_typed(&self.statements.enqueue, parameters)
            .await?;
        in_order(tasks.len(), &rows, enqueued).map_err(TransactionError::Refused)
    }

    /// Completes a task in the transaction that keeps what its handler has done. If the claim is over, that is an
    /// error, and the transaction cannot commit: nothing of a worker that was too late is kept.
    ///
    /// # Errors
    /// [`TransactionError::Lost`]: roll back, and stop. [`TransactionError::Refused`],
    /// [`TransactionError::Postgres`]: nothing is known of the claim.
    ///
    /// # Cancel safety
    /// As of [`enqueue_in`](Self::enqueue_in).
    pub async fn complete_in(
        &self,
        transaction: &Transaction<'_>,
        key: &ClaimKey,
        output: Value,
    ) -> Result<(), TransactionError> {
        let ending = Ending::new(*key, How::Complete(output));
        let text = ending.check().map_err(TransactionError::Refused)?;
        let parameters: &Parameters<'_> = &[
            (&key.id.get(), Type::INT8),
            (&key.uuid, Type::UUID),
            (&token(key.token), Type::INT8),
            (&text, Type::TEXT),
        ];
        let completed = transaction.query_typed(&self.statements.complete, parameters);
        match completed.await {
            Ok(_) => Ok(()),
            Err(error) => Err(lost_or(key, error)),
        }
    }

    /// Leaves something for the next attempt in a transaction of the caller's, see [`TaskStore::checkpoint`].
    ///
    /// # Errors
    /// As of [`complete_in`](Self::complete_in).
    ///
    /// # Cancel safety
    /// As of [`enqueue_in`](Self::enqueue_in).
    pub async fn checkpoint_in(
        &self,
        transaction: &Transaction<'_>,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<(), TransactionError> {
        let text = limits::checkpoint(checkpoint).map_err(TransactionError::Refused)?;
        let parameters: &Parameters<'_> = &[
            (&key.id.get(), Type::INT8),
            (&key.uuid, Type::UUID),
            (&token(key.token), Type::INT8),
            (&bigint(number), Type::INT8),
            (&text, Type::TEXT),
        ];
        let kept = transaction.query_typed(&self.statements.checkpoint_strictly, parameters);
        match kept.await {
            Ok(_) => Ok(()),
            Err(error) => Err(lost_or(key, error)),
        }
    }

    /// Ends claims in one statement.
    async fn finish_together(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        let all = Endings::new(endings)?;
        let rows = self
            .connections
            .query(Caller::Holder, &self.statements.finish, &all.parameters())
            .await?;
        in_order(endings.len(), &rows, ended)
    }

    /// Each by itself, as many at once as the pool allows. Dropping this future stops them all.
    ///
    /// # Errors
    /// That of one that has none; all others have ended.
    async fn finish_apart(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        let mut finishing = JoinSet::new();
        for (place, ending) in endings.iter().cloned().enumerate() {
            let own = self.clone();
            finishing.spawn(async move { (place, own.finish_together(&[ending]).await) });
        }
        let mut answers: Vec<Result<Ended, ProviderError>> = endings
            .iter()
            .map(|_| Err(error::bad_answer("no answer for an ending")))
            .collect();
        while let Some(done) = finishing.join_next().await {
            // One that did not end, because its runtime does, stays without an answer.
            if let Ok((place, answer)) = done {
                answers[place] = answer.map(|ended| ended[0]);
            }
        }
        answers.into_iter().collect()
    }
}

/// A claim that is over, if that is what the database said.
fn lost_or(key: &ClaimKey, error: tokio_postgres::Error) -> TransactionError {
    match error.as_db_error() {
        Some(db) if db.code().code() == STALE => TransactionError::Lost {
            id: key.id,
            token: key.token,
            state: db.detail().and_then(|state| state.parse().ok()),
        },
        _ => TransactionError::Postgres(error),
    }
}

/// Puts answers, whose first column is their place from 1 on, into the order of what was asked for.
fn in_order<T>(
    number: usize,
    rows: &[Row],
    read: impl Fn(&Row) -> Result<T, Flaw>,
) -> Result<Vec<T>, ProviderError> {
    let mut answers: Vec<Option<T>> = (0..number).map(|_| None).collect();
    for row in rows {
        let answer = || {
            let place: i64 = value(row, "place", 0)?;
            let place = usize::try_from(place)
                .ok()
                .and_then(|place| place.checked_sub(1));
            Ok((place, read(row)?))
        };
        let (place, answer) = answer().map_err(|flaw: Flaw| error::bad_answer(&flaw))?;
        match place.and_then(|place| answers.get_mut(place)) {
            Some(slot) => *slot = Some(answer),
            None => return Err(error::bad_answer("what was not asked for")),
        }
    }
    let answers: Option<Vec<T>> = answers.into_iter().collect();
    answers.ok_or_else(|| error::bad_answer("no row for one of many"))
}

fn enqueued(row: &Row) -> Result<Enqueued, Flaw> {
    enqueued_at(row, 1)
}

/// What two columns from this one on say.
fn enqueued_at(row: &Row, at: usize) -> Result<Enqueued, Flaw> {
    let id = row::task_id(value(row, "number", at)?)?;
    Ok(if value(row, "is_new", at + 1)? {
        Enqueued::New(id)
    } else {
        Enqueued::Duplicate(id)
    })
}

fn ended(row: &Row) -> Result<Ended, Flaw> {
    let state = state(row, 2)?;
    if value(row, "own", 1)? {
        return state.map(Ended::Own).ok_or_else(|| "no state".into());
    }
    Ok(Ended::Lost(state))
}

/// A state, if there is one.
fn state(row: &Row, at: usize) -> Result<Option<State>, Flaw> {
    let word: Option<&str> = optional(row, "state", at)?;
    word.map(str::parse)
        .transpose()
        .map_err(|error: dlock_tasks::NoState| error.to_string())
}

impl Additions<'_> {
    fn parameters(&self) -> [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 9] {
        [
            (&self.queues, Type::TEXT_ARRAY),
            (&self.priorities, Type::INT4_ARRAY),
            (&self.delays, Type::INT8_ARRAY),
            (&self.instants, Type::INT8_ARRAY),
            (&self.max_attempts, Type::INT4_ARRAY),
            (&self.kinds, Type::TEXT_ARRAY),
            (&self.keys, Type::TEXT_ARRAY),
            (&self.lanes, Type::TEXT_ARRAY),
            (&self.payloads, Type::TEXT_ARRAY),
        ]
    }
}

impl Endings {
    fn parameters(&self) -> [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 7] {
        [
            (&self.ids, Type::INT8_ARRAY),
            (&self.uuids, Type::UUID_ARRAY),
            (&self.tokens, Type::INT8_ARRAY),
            (&self.hows, Type::TEXT_ARRAY),
            (&self.outputs, Type::TEXT_ARRAY),
            (&self.errors, Type::TEXT_ARRAY),
            (&self.delays, Type::INT8_ARRAY),
        ]
    }
}

// Not the pool: what it shows of itself is the driver's choice, and it knows a password.
impl fmt::Debug for PostgresTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresTasks")
            .field("schema", &self.schema.name())
            .finish_non_exhaustive()
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
        let (mut tasks, mut next, mut swept) = (Vec::new(), None, None);
        for row in &rows {
            match row::claimed(row, claim.uuid) {
                Ok(Some(task)) => {
                    if let Some((priority, key)) = row::key(row, &task) {
                        look.claimed(&task.queue, priority, key);
                    }
                    if row::has_lane(row) {
                        look.found_lane(&task.queue);
                    }
                    tasks.push(task);
                }
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
        Ok(Claimed::new(tasks, next))
    }

    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        match self.finish_together(endings).await {
            // One that somebody keeps locked keeps the others from nothing.
            Err(error) if endings.len() > 1 && error::of_one_row(&error) => {
                self.finish_apart(endings).await
            }
            answer => answer,
        }
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
        // The first with a larger number than the one before, which may be another one.
        let before = TaskId::new(id.get() - 1);
        let rows = self.page(before, None, None, 1).await?;
        let task = rows.first().map(row::shown).transpose();
        match task {
            Ok(task) => Ok(task.filter(|task| task.id == id)),
            Err(error) => Err(error),
        }
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        let limit = match filter.limit {
            0 => PAGE,
            limit => limit,
        };
        let queue = filter.queue.as_deref();
        let (mut tasks, mut after) = (Vec::new(), filter.after);
        // One row that somebody has damaged hides no other, so a page that has some is filled up.
        while tasks.len() < limit {
            let room = limit - tasks.len();
            let rows = self.page(after, queue, filter.state, room).await?;
            for row in &rows {
                after = row::listed(row)?;
                match row::shown(row) {
                    Ok(task) => tasks.push(task),
                    Err(error) => {
                        tracing::warn!(error = &error as &dyn Error, "a task is passed over");
                    }
                }
            }
            if rows.len() < room {
                break;
            }
        }
        Ok(tasks)
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

impl PostgresTasks {
    /// Tasks by number.
    async fn page(
        &self,
        after: Option<TaskId>,
        queue: Option<&str>,
        state: Option<State>,
        limit: usize,
    ) -> Result<Vec<Row>, ProviderError> {
        let after = after.map_or(0, TaskId::get);
        let state = state.map(State::as_str);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.connections
            .query(
                Caller::Other,
                &self.statements.list,
                &[
                    (&after, Type::INT8),
                    (&queue, Type::TEXT),
                    (&state, Type::TEXT),
                    (&limit, Type::INT8),
                ],
            )
            .await
    }
}
