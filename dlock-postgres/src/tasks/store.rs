//! The calls of a queue.

use std::{
    error::Error,
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

use super::{
    PostgresTasks,
    answers::{enqueued, enqueued_at, in_order, state},
    reading::off_the_runtime,
    requests::{Additions, micros, token},
    row::{self, Given},
};
use crate::{
    connections::{Caller, Parameters, bigint, millis},
    error,
    record::{Flaw, optional, value},
};

/// How often tasks are sent again if their keys were added or ended by others at the same time.
const MOST_CONFLICTS: usize = 5;

impl PostgresTasks {
    /// One claim; and the endings of those of its tasks that no worker can read.
    async fn claim_once(&self, claim: &Claim) -> Result<(Claimed, Vec<Ending>), ProviderError> {
        let mut queues: Vec<&str> = Vec::new();
        for queue in &claim.queues {
            if !queues.contains(&queue.as_str()) {
                queues.push(queue);
            }
        }
        let look = self.cursors.look(&queues);
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
        let uuid = claim.uuid;
        let rows = off_the_runtime(rows, move |rows| -> Vec<_> {
            rows.iter().map(|row| row::given(row, uuid)).collect()
        });
        let (mut tasks, mut unreadable) = (Vec::new(), Vec::new());
        let (mut next, mut swept) = (None, None);
        for row in rows.await? {
            match row {
                Ok(Given::Task { task, place, lane }) => {
                    if let Some((priority, key)) = place {
                        look.claimed(&task.queue, priority, key);
                    }
                    if lane {
                        look.found_lane(&task.queue);
                    }
                    tasks.push(task);
                }
                Ok(Given::Unreadable(ending)) => unreadable.push(ending),
                Ok(Given::Dead) => {}
                Ok(Given::End(end)) => (next, swept) = end?,
                // A damaged row hides no other row. It comes again when its lease ends, until it has no attempt left.
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
            // Another attempt could not read them either.
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
            // A damaged state is the state of no task.
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
