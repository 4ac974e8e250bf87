//! `/v1/{namespace}/queues`: which queues are paused.

use axum::{Json, extract::State};
use dlock_http::{
    Problem, Time,
    leases::Done,
    tasks::{Paused, Queue, SetQueue},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::request::Answer;
use crate::{
    Service,
    body::Body,
    calls::Class,
    guard::{Allowed, ToAdmin, ToRead},
    names::InNamespace,
};

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new().routes(routes!(paused, set))
}

/// The queues that are paused.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/queues",
    tag = "tasks",
    responses(
        (status = 200, description = "Those that are, by name.", body = Paused),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn paused(
    State(service): State<Service>,
    Allowed { namespace, .. }: Allowed<ToRead>,
) -> Answer<Paused> {
    let limit = service.0.limits.call_time;
    let paused = service
        .ask_tasks(
            Class::List,
            limit,
            |store| async move { store.paused().await },
        )
        .await?;
    let own = paused.into_iter().filter_map(|paused| {
        Some(Queue {
            queue: namespace.shown(&paused.queue)?.to_owned(),
            since: Time(paused.since),
        })
    });
    Ok(Json(Paused {
        paused: own.collect(),
    }))
}

/// Pauses a queue, so that no new claim gets any of its tasks, or resumes it.
#[utoipa::path(
    put,
    path = "/v1/{namespace}/queues",
    tag = "tasks",
    request_body = SetQueue,
    responses(
        (status = 200, description = "So it is.", body = Done),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn set(
    State(service): State<Service>,
    Allowed { namespace, .. }: Allowed<ToAdmin>,
    Body(SetQueue { queue, paused }): Body<SetQueue>,
) -> Answer<Done> {
    let queue = namespace.stored_label(&queue, "/queue")?;
    let limit = service.0.limits.call_time;
    service
        .ask_tasks(Class::List, limit, |store| async move {
            store.set_paused(&queue, paused).await
        })
        .await?;
    Ok(Json(Done {}))
}
