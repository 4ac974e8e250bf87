//! The number of a task, or of something kept as a task, in a path.

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::request::Parts,
};
use dlock_http::Code;
use dlock_tasks::TaskId;

use crate::{Service, problem::Refusal};

/// The number in the path.
#[derive(Debug)]
pub(crate) struct Number(pub(crate) TaskId);

impl FromRequestParts<Service> for Number {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Refusal> {
        let parameters = RawPathParams::from_request_parts(parts, service).await;
        let parameters = parameters.map_err(|_| Refusal::from(Code::BadRequest))?;
        let named = parameters.iter().find(|(name, _)| *name == "id");
        let number = named.and_then(|(_, text)| TaskId::new(text.parse().ok()?));
        number
            .map(Self)
            .ok_or_else(|| Refusal::new(Code::NotFound, "this number does not exist"))
    }
}
