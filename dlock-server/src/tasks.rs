//! `/v1/{namespace}/tasks`: each request is one call of the store of tasks, and one that was refused is a second.
//!
//! A queue has its namespace and a slash before its name in the store, and a number says nothing of its task's
//! namespace. So what names a number alone (a look, a cancellation, a retry) reads the task first. That is no race: a
//! task never changes its queue, and no number is used twice.
//!
//! What ends or keeps a claim proves itself by uuid and token instead, and is not looked up: the uuid is known to its
//! claimer, and to those alone who may work in the namespace of the task. A refusal tells what the task is doing, so
//! only then is it read, and one of another namespace is as if it were not there.

mod change;
mod claim;
mod claims;
mod ending;
mod enqueue;
mod events;
mod hints;
mod show;
mod wait;
mod whose;

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{FromRequestParts, RawPathParams},
    http::request::Parts,
};
use dlock_core::ProviderError;
use dlock_http::Code;
use dlock_tasks::{TaskId, TaskStore};
use utoipa_axum::router::OpenApiRouter;

use self::{hints::Hints, wait::Lines};
use crate::{Service, calls::Class, problem::Refusal};

/// The most heartbeats or endings of one request.
const MOST: usize = 500;

type Answer<T> = Result<Json<T>, Refusal>;

/// A store of tasks, and those who wait for them.
pub(crate) struct Tasks {
    store: Arc<dyn TaskStore>,
    hints: Hints,
    lines: Lines,
}

impl Tasks {
    pub(crate) fn new(store: Arc<dyn TaskStore>) -> Self {
        Self {
            hints: Hints::new(Arc::clone(&store)),
            lines: Lines::default(),
            store,
        }
    }
}

pub(crate) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .merge(enqueue::routes())
        .merge(claim::routes())
        .merge(claims::routes())
        .merge(ending::routes())
        .merge(show::routes())
        .merge(change::routes())
        .merge(events::routes())
}

impl Service {
    fn tasks(&self) -> Result<&Tasks, Refusal> {
        let tasks = self.0.tasks.get();
        tasks.ok_or_else(|| Refusal::new(Code::NotFound, "this server has no tasks"))
    }

    /// One call of the store of tasks.
    async fn ask_tasks<T, F>(
        &self,
        class: Class,
        limit: Duration,
        call: impl FnOnce(Arc<dyn TaskStore>) -> F,
    ) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ProviderError>> + Send + 'static,
    {
        let request = call(Arc::clone(&self.tasks()?.store));
        self.0.calls.ask(class, limit, request).await
    }
}

/// The number of a task in the path.
#[derive(Debug)]
struct Number(TaskId);

impl FromRequestParts<Service> for Number {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Refusal> {
        let parameters = RawPathParams::from_request_parts(parts, service).await;
        let parameters = parameters.map_err(|_| Refusal::from(Code::BadRequest))?;
        let named = parameters.iter().find(|(name, _)| *name == "id");
        let number = named.and_then(|(_, text)| TaskId::new(text.parse().ok()?));
        number
            .map(Self)
            .ok_or_else(|| Refusal::new(Code::NotFound, "no task has such a number"))
    }
}
