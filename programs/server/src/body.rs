//! The contents of requests, read with limits, and the answers to contents that cannot be read.

use axum::{
    extract::{FromRequest, FromRequestParts, Query, Request},
    http::{HeaderMap, Method, Uri, header, request::Parts},
    response::Response,
};
use dlock_http::{Code, Problem};
use dlock_tasks::json::numbers;
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use tokio::time::timeout;

use crate::{
    Service,
    api::answer,
    asking::Asking,
    audit::Audit,
    memory::{OfRequest, SMALL},
    problem::Refusal,
};

/// The body of a request, as JSON.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

/// The query of a request.
#[derive(Debug)]
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Service> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, service: &Service) -> Result<Self, Refusal> {
        if !is_json(request.headers()) {
            return Err(Refusal::new(
                Code::NotJson,
                "send the header Content-Type: application/json",
            ));
        }
        let limits = &service.0.limits;
        let audit = request.extensions().get::<Audit>().cloned();
        let body = timeout(limits.body_time, whole(request, service)).await;
        let body = body.map_err(|_elapsed| Refusal::from(Code::TooSlow))??;
        if let Some(audit) = audit {
            audit.asked(&body);
        }
        parsed(&body).map(Self)
    }
}

impl<T: DeserializeOwned + Send> FromRequestParts<Service> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Refusal> {
        match Query::from_request_parts(parts, service).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => Err(Refusal::new(Code::BadRequest, rejection.body_text())),
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let content = headers.get(header::CONTENT_TYPE);
    let Some(content) = content.and_then(|content| content.to_str().ok()) else {
        return false;
    };
    let essence = content.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// All of the body, unless it is too large. For a sender that was not admitted to anything the limit is
/// small.
async fn whole(request: Request, service: &Service) -> Result<Vec<u8>, Refusal> {
    let asking = request.extensions().get::<Asking>().cloned();
    let kept = request.extensions().get::<OfRequest>().cloned();
    let kept = kept.unwrap_or_default();
    let most = match asking {
        Some(_) => service.0.limits.body,
        None => service.0.limits.body.min(SMALL),
    };
    let mut stream = request.into_body().into_data_stream();
    let mut body = Vec::new();
    while let Some(part) = stream.next().await {
        let part = part.map_err(|_| Refusal::new(Code::BadRequest, "the body broke off"))?;
        if body.len() + part.len() > most {
            return Err(Refusal::new(
                Code::TooLarge,
                format!("at most {most} bytes are taken"),
            ));
        }
        if let Some(asking) = &asking
            && body.len() + part.len() > SMALL
        {
            kept.keep(asking.memory(part.len())?);
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    // serde also reads the members of an object from an array, in their order.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(Refusal::new(
            Code::BadRequest,
            "the body is an array, and has to be an object",
        ));
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let pointer = pointer(error.path());
        Problem::new(Code::BadRequest)
            .detail(error.inner().to_string())
            .pointer(pointer)
    })?;
    json.end()
        .map_err(|error| Refusal::new(Code::BadRequest, error.to_string()))?;
    let text = str::from_utf8(body).map_err(|error| error.to_string());
    text.and_then(|text| numbers(text).map_err(|error| error.to_string()))
        .map_err(|error| Refusal::new(Code::BadRequest, error))?;
    Ok(value)
}

/// The path as RFC 6901 writes it.
fn pointer(path: &serde_path_to_error::Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        pointer.push('/');
        match segment {
            Segment::Seq { index } => {
                pointer.push_str(&index.to_string());
            }
            Segment::Map { key } | Segment::Enum { variant: key } => {
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            Segment::Unknown => pointer.push('?'),
        }
    }
    pointer
}

pub(crate) async fn no_such_path(uri: Uri) -> Response {
    let path = uri.path();
    let refusal = Refusal::new(
        Code::NotFound,
        format!("there is no {path:?}; /openapi.json lists what there is"),
    );
    answer::refused(path, refusal).await
}

pub(crate) async fn no_such_method(method: Method, uri: Uri) -> Response {
    let path = uri.path();
    let refusal = Refusal::new(
        Code::MethodNotAllowed,
        format!("{path:?} has no method {method}; /openapi.json lists what there is"),
    );
    answer::refused(path, refusal).await
}

#[cfg(test)]
mod tests {
    use dlock_http::{
        leases::{Acquire, RenewMany},
        tasks::Enqueue,
    };

    use super::*;

    fn said<T: DeserializeOwned + std::fmt::Debug>(body: &str) -> String {
        format!("{:?}", parsed::<T>(body.as_bytes()).unwrap_err())
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        let renewals = r#"{"renewals": [{"name": "a", "uuid": "x", "n": 1}]}"#;
        assert!(said::<RenewMany>(renewals).contains("\"/renewals/0/uuid\""));
        let typo =
            r#"{"name": "a", "uuid": "00000000-0000-4000-8000-000000000000", "duration": 5}"#;
        let typo = said::<Acquire>(typo);
        assert!(typo.contains("unknown field `duration`"), "{typo}");
        assert!(said::<RenewMany>(r#"{"renewals": []} {}"#).contains("trailing"));
        assert!(said::<RenewMany>("").contains("EOF"));
        assert!(said::<RenewMany>(" [[]]").contains("an array"));
    }

    #[test]
    fn number_that_would_change_is_refused() {
        let with = |number| format!(r#"{{"tasks": [{{"kind": "a", "payload": {number}}}]}}"#);
        parsed::<Enqueue>(with("1.5").as_bytes()).unwrap();
        let number = "123456789012345678901234567890";
        assert!(said::<Enqueue>(&with(number)).contains(number));
    }
}
