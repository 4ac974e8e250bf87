//! Whether the server lives, in the sample's words.

use axum::{Json, extract::State, http::StatusCode};
use dlock_http::{Problem, Time};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::answer::Answer;
use crate::{Service, guard::is_served, journal::now};

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new().routes(routes!(healthz))
}

/// The answer that it lives.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = sample::Health)]
struct Health {
    /// `ok`.
    status: &'static str,
    /// The time, by this server's clock.
    timestamp: Time,
}

/// The server lives. Queries no store, and needs no token.
#[utoipa::path(
    get,
    path = "/api/healthz",
    tag = "sample",
    responses(
        (status = 200, description = "It lives.", body = Health),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn healthz(State(service): State<Service>) -> Answer<Health> {
    is_served(&service)?;
    let (status, timestamp) = ("ok", Time(now()));
    Ok((StatusCode::OK, Json(Health { status, timestamp })))
}
