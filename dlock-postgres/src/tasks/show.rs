//! Tasks as they are shown: one, and pages of them by number.

use std::error::Error;

use deadpool_postgres::tokio_postgres::{Row, types::Type};
use dlock_core::ProviderError;
use dlock_tasks::{Filter, State, Task, TaskId};

use super::{PostgresTasks, row};
use crate::connections::Caller;

/// How many tasks a page has, if nobody says.
const PAGE: usize = 100;

impl PostgresTasks {
    pub(super) async fn shown(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        // The first with a larger number than the one before, which may be another one.
        let before = TaskId::new(id.get() - 1);
        let rows = self.page(before, None, None, 1).await?;
        let task = rows.first().map(row::shown).transpose();
        match task {
            Ok(task) => Ok(task.filter(|task| task.id == id)),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn listed(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
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
