//! A web service in which one request at a time works on a customer.

use dlock::{BuildError, Provider};

// ANCHOR: group
/// The settings of all customers' locks; each request names its own with `named`.
pub fn locks(store: impl Provider) -> Result<DLock, BuildError> {
    DLock::builder()
        .name("customer")
        .group("customers")
        .provider(store)
        .build()
}
// ANCHOR_END: group

// ANCHOR: handler
use std::time::Duration;

use axum::{
    Router, extract::Path, extract::State, http::StatusCode, routing::post,
};
use dlock::{DLock, Error, FencingToken};

pub fn service(locks: DLock) -> Router {
    Router::new()
        .route("/customers/{id}/orders", post(order))
        .with_state(locks)
}

async fn order(
    State(locks): State<DLock>,
    Path(id): Path<u64>,
) -> (StatusCode, String) {
    let Ok(lock) = locks.named(format!("customer-{id}")) else {
        return (StatusCode::BAD_REQUEST, "no such customer".into());
    };
    let booked = async {
        let lease = lock.acquire_timeout(Duration::from_secs(5)).await?;
        lease.with(book).await
    };
    match booked.await {
        Ok(receipt) => (StatusCode::OK, receipt),
        // The work may or may not be complete: the storage knows, since it checks
        // the token.
        Err(error @ Error::Lost(_)) => {
            (StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
        }
        // Another request has the lock. A timeout caused by a silent store is not
        // this case.
        Err(error @ Error::Timeout { .. }) if error.store_error().is_none() => (
            StatusCode::CONFLICT,
            "another order of this customer is being booked".into(),
        ),
        // The store is silent, or this instance is about to end.
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}
// ANCHOR_END: handler

async fn book(token: FencingToken) -> String {
    format!("booked with token {token}")
}
