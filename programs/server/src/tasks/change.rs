//! Operators' actions on tasks.

use axum::Json;
use dlock_http::{
    Code, Problem,
    tasks::{Cancel, Cancelled, Enqueued, Prune, Pruned, Retry},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{namespace, request::Answer};
use crate::{
    Service,
    body::Body,
    guard::{Allowed, AllowedEverywhere, ToAdmin},
    names::InNamespace,
    number::Number,
    store_calls::Class,
};

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(cancel))
        .routes(routes!(retry))
        .routes(routes!(prune))
}

/// Ends a task that no worker has, and asks the worker of a running one to stop.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/tasks/{id}/cancel",
    tag = "tasks",
    request_body = Cancel,
    responses(
        (status = 200, description = "The state that the task was in.", body = Cancelled),
        (status = 404, description = "`not-found`: the namespace has no task of this number.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(
        InNamespace,
        ("id" = i64, Path, description = "The number of the task"),
    ),
)]
async fn cancel(
    Allowed {
        service, namespace, ..
    }: Allowed<ToAdmin>,
    Number(id): Number,
    Body(Cancel { force }): Body<Cancel>,
) -> Answer<Cancelled> {
    namespace::task(&service, &namespace, id).await?;
    let limit = service.0.limits.call_time;
    let was = service
        .ask_tasks(limit, |store| async move { store.cancel(id, force).await })
        .await?;
    was.map(|was| Json(Cancelled { was }))
        .ok_or_else(|| Code::NotFound.into())
}

/// Enqueues an ended task once more: under its number, or, if it succeeded, as a copy.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/tasks/{id}/retry",
    tag = "tasks",
    request_body = Retry,
    responses(
        (status = 200, description = "It is in the queue, or another one of its key is.", body = Enqueued),
        (status = 404, description = "`not-found`: the namespace has no task of this number.", body = Problem),
        (status = 409, description = "`changed`, with its `state`: it has not ended.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(
        InNamespace,
        ("id" = i64, Path, description = "The number of the task"),
    ),
)]
async fn retry(
    Allowed {
        service, namespace, ..
    }: Allowed<ToAdmin>,
    Number(id): Number,
    Body(Retry {}): Body<Retry>,
) -> Answer<Enqueued> {
    let seen = namespace::task(&service, &namespace, id).await?;
    let limit = service.0.limits.call_time;
    let added = service
        .ask_tasks(limit, |store| async move { store.retry(id).await })
        .await?;
    added.map(|added| Json(added.into())).ok_or_else(|| {
        let problem = Problem::new(Code::Changed).detail("the task has not ended");
        problem.state(Some(seen.state)).into()
    })
}

/// Forgets tasks that ended long ago, of all namespaces.
#[utoipa::path(
    post,
    path = "/v1/prune",
    tag = "tasks",
    request_body = Prune,
    responses(
        (status = 200, description = "How many there were.", body = Pruned),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn prune(
    AllowedEverywhere { service, .. }: AllowedEverywhere<ToAdmin>,
    Body(prune): Body<Prune>,
) -> Answer<Pruned> {
    let limit = service.0.limits.call_time;
    let deleted = service
        .lowered(Class::List)
        .ask_tasks(limit, |store| async move {
            store.prune(prune.ages(), prune.limit).await
        })
        .await?;
    Ok(Json(Pruned { deleted }))
}
