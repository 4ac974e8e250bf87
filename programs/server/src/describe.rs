//! The description of everything that is served, for programs.

use axum::{Router, body::Bytes, http::header, routing::get};
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

pub(crate) fn routes(description: &OpenApi) -> Router<Service> {
    // Written once: every client may read it, and all answers share it.
    let text = Bytes::from(serde_json::to_vec(description).unwrap_or_default());
    let answer = ([(header::CONTENT_TYPE, "application/json")], text);
    Router::new().route("/openapi.json", get(async move || answer.clone()))
}
