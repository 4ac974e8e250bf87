//! With your own service behind HTTP: it keeps the highest token next to its data.

// ANCHOR: service
use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    Router, extract::State, http::HeaderMap, http::StatusCode, routing::put,
};
use dlock::{Fence, FencingToken};

/// The data and the highest token that wrote it, under one mutex: if the check were
/// separate from the write, another request could write in between.
#[derive(Debug, Default)]
pub struct Page {
    fence: Fence,
    text: String,
}

pub fn service() -> Router {
    Router::new()
        .route("/page", put(write).get(read))
        .with_state(Arc::<Mutex<Page>>::default())
}

async fn write(
    State(page): State<Arc<Mutex<Page>>>,
    headers: HeaderMap,
    text: String,
) -> (StatusCode, String) {
    let token = headers
        .get("fencing-token")
        .and_then(|value| value.to_str().ok());
    let Some(token) =
        token.and_then(|token| FencingToken::new(token.parse().ok()?))
    else {
        return (
            StatusCode::BAD_REQUEST,
            "fencing-token: a number from 1 on".into(),
        );
    };
    let mut page = page.lock().unwrap_or_else(PoisonError::into_inner);
    match page.fence.check(token) {
        Ok(()) => {
            page.text = text;
            (StatusCode::OK, String::new())
        }
        Err(stale) => (StatusCode::CONFLICT, stale.to_string()),
    }
}
// ANCHOR_END: service

async fn read(State(page): State<Arc<Mutex<Page>>>) -> String {
    page.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .text
        .clone()
}
