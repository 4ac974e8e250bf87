//! The description of everything that is served, for programs.

use std::sync::Arc;

use axum::{Json, Router, routing::get};
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder};

use crate::Service;

pub(crate) fn openapi() -> OpenApi {
    let info = InfoBuilder::new()
        .title("dlock")
        .version("1")
        .description(Some(
            "Leases with fencing tokens, over the store you already run.",
        ))
        .build();
    OpenApiBuilder::new().info(info).build()
}

pub(crate) fn routes(description: OpenApi) -> Router<Service> {
    let description = Arc::new(description);
    Router::new().route(
        "/openapi.json",
        get(async move || Json((*description).clone())),
    )
}
