//! All routes of the server.

use axum::{Router, middleware};
use utoipa_axum::router::OpenApiRouter;

use crate::{Service, api, body, describe, guard, health, leases, measure, page, session, tasks};

/// All routes of the server.
pub fn router(service: &Service) -> Router {
    let (router, description) = OpenApiRouter::with_openapi(describe::openapi())
        .merge(leases::routes())
        .merge(tasks::routes())
        .merge(api::routes())
        .merge(session::routes())
        .merge(health::routes())
        .split_for_parts();
    router
        .merge(describe::routes(&description))
        .merge(page::routes())
        .fallback(body::no_such_path)
        .method_not_allowed_fallback(body::no_such_method)
        .layer(middleware::from_fn_with_state(
            service.clone(),
            guard::check,
        ))
        .layer(middleware::from_fn(measure::measure))
        .with_state(service.clone())
}
