//! The common parts of requests about tasks.

use axum::Json;

use crate::problem::Refusal;

/// The most heartbeats or endings of one request.
pub(super) const MOST: usize = 500;

pub(super) type Answer<T> = Result<Json<T>, Refusal>;
