//! Whether the server lives and should get requests, what its store can do, and its metrics.

use std::time::Duration;

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use dlock_core::Name;
use dlock_http::{
    Code, Problem,
    leases::{Capabilities, Done},
};
use dlock_tasks::TaskId;
use tokio::time::Instant;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    Service,
    asking::Asking,
    guard::{AllowedEverywhere, ToMeasure},
    problem::Refusal,
    store_calls::Class,
};

/// For how long an answer to `/readyz` is reused. The request needs no token, so the store is queried no more often
/// than that, and by one request at a time.
const FRESH: Duration = Duration::from_secs(1);

pub(crate) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(healthz))
        .routes(routes!(readyz))
        .routes(routes!(capabilities))
        .routes(routes!(metrics))
}

/// The server lives. Queries no store.
#[utoipa::path(get, path = "/healthz", tag = "server", responses((status = 200, description = "It lives.", body = Done)))]
async fn healthz() -> Json<Done> {
    Json(Done {})
}

/// The server is ready for requests: it is not about to stop, and its store answers, for tasks too.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "server",
    responses(
        (status = 200, description = "Send it requests.", body = Done),
        (status = "default", description = "Send it none, for the moment.", body = Problem),
    ),
)]
async fn readyz(State(service): State<Service>) -> Result<Json<Done>, Refusal> {
    if service.0.stopping.is_cancelled() {
        return Err(Code::Stopping.into());
    }
    let mut looked = service.0.looked.lock().await;
    match &*looked {
        Some((at, answer)) if at.elapsed() < FRESH => answer.clone(),
        _ => {
            let answer = look(&service).await.map(|()| Json(Done {}));
            *looked = Some((Instant::now(), answer.clone()));
            answer
        }
    }
}

/// Whether the store answers, for leases and for tasks.
async fn look(service: &Service) -> Result<(), Refusal> {
    // A name that is in no namespace.
    let name = Name::new("readyz").map_err(|_| Refusal::from(Code::Fatal))?;
    let limit = service.0.limits.call_time;
    // Never shed: a busy server should still get requests.
    let asking = Asking::new(service.clone(), Class::Hold);
    asking
        .ask(limit, |store| async move { store.read(&name).await })
        .await?;
    // The tables of tasks may be missing, or belong to another user.
    if let (Some(_), Some(id)) = (service.0.tasks.get(), TaskId::new(1)) {
        asking
            .ask_tasks(limit, |store| async move { store.task(id).await })
            .await?;
    }
    Ok(())
}

/// The abilities of the store behind the server. Always the same answer.
#[utoipa::path(
    get,
    path = "/v1/capabilities",
    tag = "server",
    responses((status = 200, description = "The store's abilities.", body = Capabilities)),
)]
async fn capabilities(State(service): State<Service>) -> Json<Capabilities> {
    let has_tasks = service.0.tasks.get().is_some();
    Json(Capabilities::new(
        service.0.provider.capabilities(),
        has_tasks,
    ))
}

/// The server's metrics, as Prometheus reads them.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "server",
    responses(
        (status = 200, description = "The metrics.", body = String, content_type = "text/plain"),
        (status = 404, description = "`not-found`: the server keeps none.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn metrics(
    AllowedEverywhere { service, .. }: AllowedEverywhere<ToMeasure>,
) -> Result<Response, Refusal> {
    let Some(shown) = service.0.metrics.get() else {
        return Err(Refusal::new(Code::NotFound, "this server keeps no metrics"));
    };
    let text = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    Ok((text, shown()).into_response())
}
