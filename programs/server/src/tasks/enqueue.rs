//! New tasks.

use axum::Json;
use dlock_http::{
    Code, Problem,
    tasks::{Enqueue, EnqueuePeriodic, EnqueuedMany, NewTask, Served},
};
use dlock_tasks as tasks;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::request::Answer;
use crate::{
    Service,
    body::Body,
    guard::{Allowed, ToEnqueue},
    names::{InNamespace, Namespace},
    problem::Refusal,
};

/// The most tasks of one request.
const MOST: usize = 10_000;

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(enqueue))
        .routes(routes!(periodic))
}

/// Adds tasks, all or none. A task without a key is added once more by a repeat.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/tasks",
    tag = "tasks",
    request_body = Enqueue,
    responses(
        (status = 200, description = "They are in the queue.", body = EnqueuedMany),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn enqueue(
    Allowed {
        service, namespace, ..
    }: Allowed<ToEnqueue>,
    Body(Enqueue { tasks }): Body<Enqueue>,
) -> Answer<EnqueuedMany> {
    if tasks.len() > MOST {
        let detail = format!("at most {MOST} tasks are taken at a time");
        let problem = Problem::new(Code::BadRequest).detail(detail);
        return Err(problem.pointer("/tasks").into());
    }
    let each = tasks.into_iter().enumerate();
    let kept = each.map(|(index, task)| to_keep(&namespace, task, &format!("/tasks/{index}")));
    let tasks: Vec<_> = kept.collect::<Result<_, _>>()?;
    let limit = service.0.limits.call_time;
    let added = service
        .ask_tasks(limit, |store| async move { store.enqueue(&tasks).await })
        .await?;
    Ok(Json(EnqueuedMany {
        tasks: added.into_iter().map(Into::into).collect(),
    }))
}

/// Adds the task of one instant of a schedule: once, however many clients request it, and however
/// often.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/tasks/periodic",
    tag = "tasks",
    request_body = EnqueuePeriodic,
    responses(
        (status = 200, description = "The result for the instant.", body = Served),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn periodic(
    Allowed {
        service, namespace, ..
    }: Allowed<ToEnqueue>,
    Body(body): Body<EnqueuePeriodic>,
) -> Answer<Served> {
    let schedule = namespace.stored_label(&body.schedule, "/schedule")?;
    let task = to_keep(&namespace, body.task, "/task")?;
    let limit = service.0.limits.call_time;
    let served = service
        .ask_tasks(limit, |store| async move {
            store
                .enqueue_periodic(&schedule, body.instant.0, &task)
                .await
        })
        .await?;
    Served::of(served)
        .map(Json)
        .ok_or_else(|| Code::Fatal.into())
}

/// A task as the store keeps it. `pointer` is its position in the body.
fn to_keep(namespace: &Namespace, task: NewTask, pointer: &str) -> Result<tasks::NewTask, Refusal> {
    let queue = namespace.stored_label(&task.queue, &format!("{pointer}/queue"))?;
    let kept = task.into_task(queue).and_then(|task| {
        task.check()?;
        Ok(task)
    });
    kept.map_err(|error| {
        let problem = Problem::new(Code::BadRequest).detail(error.to_string());
        problem.pointer(pointer).into()
    })
}
