//! `/v1/{namespace}/queues`: which queues are paused, and which have a limit.

use axum::Json;
use dlock_http::{
    Code, Problem, Time,
    leases::Done,
    tasks::{Limited, Queue, Queues, SetQueue},
};
use dlock_tasks::limits;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::request::Answer;
use crate::{
    Service,
    asking::Asking,
    body::Body,
    guard::{Allowed, ToAdmin, ToRead},
    names::{InNamespace, Namespace},
    problem::Refusal,
};

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new().routes(routes!(queues, set))
}

/// The queues that are paused, and those that have a limit.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/queues",
    tag = "tasks",
    responses(
        (status = 200, description = "These queues, by name.", body = Queues),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn queues(
    Allowed {
        service, namespace, ..
    }: Allowed<ToRead>,
) -> Answer<Queues> {
    set_apart(&service, &namespace).await.map(Json)
}

/// The queues of a namespace that are paused, and those that have a limit.
pub(super) async fn set_apart(service: &Asking, namespace: &Namespace) -> Result<Queues, Refusal> {
    let limit = service.0.limits.call_time;
    let (paused, limits) = service
        .ask_tasks(limit, |store| async move {
            Ok((store.paused().await?, store.limits().await?))
        })
        .await?;
    let paused = paused.into_iter().filter_map(|paused| {
        Some(Queue {
            queue: namespace.shown(&paused.queue)?.to_owned(),
            since: Time(paused.since),
        })
    });
    let limits = limits.into_iter().filter_map(|limited| {
        Some(Limited {
            queue: namespace.shown(&limited.queue)?.to_owned(),
            limit: limited.limit,
        })
    });
    Ok(Queues {
        paused: paused.collect(),
        limits: limits.collect(),
    })
}

/// Pauses a queue, so that no new claim gets any of its tasks, or resumes it; limits how many of its tasks run at a time. A
/// call that does both and fails may have done one of them: repeat it.
#[utoipa::path(
    put,
    path = "/v1/{namespace}/queues",
    tag = "tasks",
    request_body = SetQueue,
    responses(
        (status = 200, description = "The change was made.", body = Done),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn set(
    Allowed {
        service, namespace, ..
    }: Allowed<ToAdmin>,
    Body(body): Body<SetQueue>,
) -> Answer<Done> {
    let SetQueue {
        queue,
        paused,
        limit: most,
    } = body;
    let queue = namespace.stored_label(&queue, "/queue")?;
    if paused.is_none() && most.is_none() {
        let problem = Problem::new(Code::BadRequest).detail("give paused, limit, or both");
        return Err(problem.into());
    }
    limits::limit(most.flatten()).map_err(|error| {
        let problem = Problem::new(Code::BadRequest).detail(error.to_string());
        problem.pointer("/limit")
    })?;
    let limit = service.0.limits.call_time;
    service
        .ask_tasks(limit, |store| async move {
            if let Some(most) = most {
                store.set_limit(&queue, most).await?;
            }
            match paused {
                Some(paused) => store.set_paused(&queue, paused).await,
                None => Ok(()),
            }
        })
        .await?;
    Ok(Json(Done {}))
}
