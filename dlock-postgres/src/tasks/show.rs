//! Tasks as they are shown: single ones, and pages of them by number.

use std::error::Error;

use deadpool_postgres::tokio_postgres::{Row, types::Type};
use dlock_core::ProviderError;
use dlock_tasks::{Filter, State, Task, TaskId};

use super::{PostgresTasks, reading::off_the_runtime, row};
use crate::connections::{Caller, Parameters};

/// The default number of tasks of a page.
const PAGE: usize = 100;

impl PostgresTasks {
    pub(super) async fn shown(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        // The first task with a number above the previous one's, which may not be the one wanted.
        let before = TaskId::new(id.get() - 1);
        let next = Filter::default().after(before).limit(1);
        let rows = self.page(&next).await?;
        let task = off_the_runtime(rows, |rows| rows.first().map(row::shown).transpose());
        match task.await? {
            Ok(task) => Ok(task.filter(|task| task.id == id)),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn listed(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        let limit = match filter.limit {
            0 => PAGE,
            limit => limit,
        };
        let (mut tasks, mut rest) = (Vec::new(), filter.clone());
        // One damaged row hides no other, so a page with damaged rows is filled up.
        while tasks.len() < limit {
            rest.limit = limit - tasks.len();
            let rows = self.page(&rest).await?;
            let is_last = rows.len() < rest.limit;
            if let Some(last) = rows.last() {
                rest.after = row::listed(last)?;
            }
            let shown = |rows: &[Row]| -> Vec<_> { rows.iter().map(row::shown).collect() };
            for task in off_the_runtime(rows, shown).await? {
                match task {
                    Ok(task) => tasks.push(task),
                    Err(error) => {
                        tracing::warn!(error = &error as &dyn Error, "a task is passed over");
                    }
                }
            }
            if is_last {
                break;
            }
        }
        Ok(tasks)
    }

    /// Tasks by number.
    async fn page(&self, filter: &Filter) -> Result<Vec<Row>, ProviderError> {
        let (statement, first) = if filter.newest_first {
            (&self.statements.list_newest, i64::MAX)
        } else {
            (&self.statements.list, 0)
        };
        let after = filter.after.map_or(first, TaskId::get);
        let state = filter.state.map(State::as_str);
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
        let parameters: &Parameters<'_> = &[
            (&after, Type::INT8),
            (&filter.queue, Type::TEXT),
            (&state, Type::TEXT),
            (&limit, Type::INT8),
            (&filter.kind, Type::TEXT),
        ];
        let page = self.connections.query(Caller::Other, statement, parameters);
        page.await
    }
}
