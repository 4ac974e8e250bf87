//! The generator: adds a task every two seconds, while it is switched on.
//!
//! The generator is a task itself, under a key that only one task has at a time. Enqueueing that task switches the
//! generator on, and cancelling it switches it off, at any server. Each server has a worker for it. The server whose
//! worker claims it adds a task of the sample, and schedules the generator's task for two seconds later. So one server
//! at a time generates, another one continues when it dies, and every server knows whether the generator is on.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::{Json, http::StatusCode};
use dlock_core::ProviderError;
use dlock_http::{Code, Problem};
use dlock_tasks::{Enqueued, Filter, NewTask, State, TaskId, TaskStore};
use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

pub use self::tick::generate;
use super::answer::Answer;
use crate::{
    Service,
    guard::{InApi, ToEnqueue, ToHear},
    problem::Refusal,
};

mod tick;

/// The queue of the generator's own task.
const QUEUE: &str = "~api/generator";
const KIND: &str = "generate";

/// How often it adds a task.
const EVERY: Duration = Duration::from_secs(2);

/// How many tasks are read at a time: cancelled ones stay for a week.
const PAGE: usize = 100;

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(start))
        .routes(routes!(status))
        .routes(routes!(stop))
}

/// How long the generator stays on after the process that keeps it on was killed.
const KEPT: Duration = Duration::from_mins(1);

/// Switches the generator on, if it is off, permanently or for a time; returns its task, new or not.
async fn switch(store: &dyn TaskStore, time: Option<Duration>) -> Result<Enqueued, ProviderError> {
    let task = NewTask::builder()
        .kind(KIND)
        .queue(QUEUE)
        .key(KIND)
        .payload(json!(time.map(|time| time.as_secs())))
        // Each server that dies uses one up.
        .max_attempts(1_000)
        .build();
    let added = store.enqueue(&[task]).await?;
    let added = added.first().copied();
    added.ok_or_else(|| ProviderError::unknown("no answer to a task"))
}

/// Keeps the generator on until `stop` resolves, or until a person switches it off. If it was on already, it is left
/// on. It is switched on for a minute at a time: if this process is killed, the generator ends.
///
/// # Errors
/// The store did not answer.
pub async fn keep_on(
    store: Arc<dyn TaskStore>,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), ProviderError> {
    let mut stop = pin!(stop);
    loop {
        let mut pause = EVERY;
        let on = match switch(&*store, Some(KEPT)).await? {
            Enqueued::New(id) => {
                pause = KEPT;
                Some(id)
            }
            _ => None,
        };
        let stopped = timeout(pause, &mut stop).await.is_ok();
        let Some(id) = on else {
            if stopped {
                return Ok(());
            }
            continue;
        };
        if stopped {
            store.cancel(id, true).await?;
            return Ok(());
        }
        let ended = store.task(id).await?.map(|task| task.state);
        if ended == Some(State::Cancelled) {
            stop.await;
            return Ok(());
        }
    }
}

/// Whether the generator is on.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = sample::Generator)]
#[serde(rename_all = "camelCase")]
struct Generator {
    is_running: bool,
    /// `STARTED` or `STOPPED`.
    status: &'static str,
    message: &'static str,
}

impl Generator {
    const fn on(message: &'static str) -> Self {
        Self {
            is_running: true,
            status: "STARTED",
            message,
        }
    }

    const fn off(message: &'static str) -> Self {
        Self {
            is_running: false,
            status: "STOPPED",
            message,
        }
    }
}

/// Switches the generator on: from now on it adds a task every two seconds, whichever servers are running.
#[utoipa::path(
    post,
    path = "/api/generator/start",
    tag = "sample",
    responses(
        (status = 200, description = "It is on now.", body = Generator),
        (status = 409, description = "`held`: it was on already.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn start(InApi { service, .. }: InApi<ToEnqueue>) -> Answer<Generator> {
    let limit = service.0.limits.call_time;
    let switched = service
        .ask_tasks(limit, |store| async move { switch(&*store, None).await })
        .await?;
    match switched {
        Enqueued::New(_) => answer(Generator::on("the generator is started")),
        _ => Err(Refusal::new(Code::Held, "the generator is on already")),
    }
}

/// Whether the generator is on.
#[utoipa::path(
    get,
    path = "/api/generator/status",
    tag = "sample",
    responses(
        (status = 200, description = "On or off.", body = Generator),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn status(InApi { service, .. }: InApi<ToHear>) -> Answer<Generator> {
    let limit = service.0.limits.call_time;
    let on = service
        .ask_tasks(limit, |store| async move { current(&*store).await })
        .await?;
    answer(match on {
        Some(_) => Generator::on("the generator is on, on one of the servers"),
        None => Generator::off("the generator is off, on all servers"),
    })
}

/// Switches the generator off.
#[utoipa::path(
    delete,
    path = "/api/generator/stop",
    tag = "sample",
    responses(
        (status = 200, description = "It is off now.", body = Generator),
        (status = 409, description = "`not-held`: it was off already.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn stop(InApi { service, .. }: InApi<ToEnqueue>) -> Answer<Generator> {
    let limit = service.0.limits.call_time;
    // By force: a server that is just adding a task learns of it once that is done, and adds no other.
    let was = service
        .ask_tasks(limit, |store| async move {
            match current(&*store).await? {
                Some(id) => store.cancel(id, true).await,
                None => Ok(None),
            }
        })
        .await?;
    match was {
        Some(was) if !was.has_ended() => answer(Generator::off("the generator is stopped")),
        _ => {
            let detail = "the generator is off already";
            Err(Refusal::new(Code::NotHeld, detail))
        }
    }
}

fn answer(generator: Generator) -> Answer<Generator> {
    Ok((StatusCode::OK, Json(generator)))
}

/// The generator's task, if it is on.
async fn current(store: &dyn TaskStore) -> Result<Option<TaskId>, ProviderError> {
    let mut after = None;
    loop {
        let filter = Filter::default().queue(Some(QUEUE.to_owned()));
        let page = store.list(&filter.after(after).limit(PAGE)).await?;
        if let Some(on) = page.iter().find(|task| !task.state.has_ended()) {
            return Ok(Some(on.id));
        }
        match page.get(PAGE - 1) {
            Some(last) => after = Some(last.id),
            None => return Ok(None),
        }
    }
}
