//! Having a lease: acquire, renew, release.

use std::time::Duration;

use axum::{Extension, Json};
use dlock_core::provider::{self, AcquireOutcome, Discipline, RenewOutcome};
use dlock_http::{
    Code, Millis, Problem,
    leases::{
        Acquire, Acquired, Release, Released, Renew, RenewAnswer, RenewMany, Renewed, RenewedMany,
    },
    pseudonym,
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    answer::{Answer, pseudonymous, refused, released},
    wait,
};
use crate::{
    Service,
    body::Body,
    guard::{Allowed, ToHold, ToKeep},
    long_polls::LONGEST,
    names::{InNamespace, Namespace},
    origin::Origin,
    problem::{Refusal, not_possible, of_store},
};

/// The highest floor for clients that may not administer the namespace: half of all tokens, and so the year 2112 (T1).
/// One at the end of the tokens would leave none for others.
const HIGHEST_FLOOR: u64 = 1 << 52;

/// The most renewals of one request.
const MOST_RENEWALS: usize = 500;

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(acquire))
        .routes(routes!(renew))
        .routes(routes!(renew_many))
        .routes(routes!(release))
}

/// Begins a term, if the name is free.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/leases/acquire",
    tag = "leases",
    request_body = Acquire,
    responses(
        (status = 200, description = "The term has begun.", body = Acquired),
        (status = 409, description = "`held`, with the record; or `spent`.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn acquire(
    Allowed {
        service, namespace, ..
    }: Allowed<ToHold>,
    Extension(sender): Extension<Origin>,
    Body(body): Body<Acquire>,
) -> Answer<Acquired> {
    let longest: Duration = body.wait_ms.into();
    if longest > LONGEST {
        let detail = format!("a wait is at most {} ms", LONGEST.as_millis());
        let problem = Problem::new(Code::BadRequest).detail(detail);
        return Err(problem.pointer("/wait_ms").into());
    }
    if body.floor > HIGHEST_FLOOR && !sender.may_administer(&namespace) {
        let detail = format!("a floor above {HIGHEST_FLOOR} takes the right `admin`");
        let problem = Problem::new(Code::Forbidden).detail(detail);
        return Err(problem.pointer("/floor").into());
    }
    let name = namespace.stored(&body.name, "/name")?;
    let mut request = body.into_request(name);
    // Where the store's clock ends terms, a client claims only its own term. An observer claims the term it was shown.
    if service.0.provider.capabilities().discipline == Discipline::StoreClock {
        request.prev = request.prev.map(pseudonymous);
    }
    request.check().map_err(|error| not_possible(&error))?;
    let (mut waited, mut outcome) = (Duration::ZERO, None);
    if !longest.is_zero() {
        let done = wait::until_free(&service, request, longest).await?;
        (waited, request, outcome) = (done.waited, done.request, done.outcome);
    }
    let limit = service.0.limits.call_time.min(request.duration / 6);
    let asked = service.ask(limit, |store| async move {
        let outcome = store.acquire(&request).await?;
        match &outcome {
            // An observer may claim its own term, too, and a ticket's.
            AcquireOutcome::Held(record)
                if request.prev.map(pseudonymous) == Some(record.version()) =>
            {
                let prev = Some(record.version());
                store.acquire(&request.prev(prev)).await
            }
            _ => Ok(outcome),
        }
    });
    let outcome = match outcome {
        Some(outcome) => outcome,
        None => asked.await?,
    };
    match outcome {
        AcquireOutcome::Acquired(tokens) => Ok(Json(Acquired {
            token: tokens.last(),
            tokens: tokens.count(),
            waited_ms: Millis::rounded_down(waited),
        })),
        AcquireOutcome::Held(record) => Err(refused(Code::Held, Some(record))),
        AcquireOutcome::Spent => Err(Code::Spent.into()),
    }
}

/// Extends a term by its duration.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/leases/renew",
    tag = "leases",
    request_body = Renew,
    responses(
        (status = 200, description = "The term continues.", body = Renewed),
        (status = 409, description = "`lost`: the term has ended.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn renew(
    Allowed {
        service, namespace, ..
    }: Allowed<ToKeep>,
    Body(body): Body<Renew>,
) -> Answer<Renewed> {
    let request = renewal(&namespace, &body, "/name")?;
    let outcome = service.renew(request).await?;
    renewed(outcome).map(Json).map_err(Refusal)
}

/// Extends up to 500 terms, each independently.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/leases/renew-many",
    tag = "leases",
    request_body = RenewMany,
    responses(
        (status = 200, description = "An answer for each, in their order.", body = RenewedMany),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn renew_many(
    Allowed {
        service, namespace, ..
    }: Allowed<ToKeep>,
    Body(RenewMany { renewals }): Body<RenewMany>,
) -> Answer<RenewedMany> {
    if renewals.len() > MOST_RENEWALS {
        let detail = format!("at most {MOST_RENEWALS} renewals are taken at a time");
        let problem = Problem::new(Code::BadRequest).detail(detail);
        return Err(problem.pointer("/renewals").into());
    }
    let named = |(index, renewal): (usize, &Renew)| {
        self::renewal(&namespace, renewal, &format!("/renewals/{index}/name"))
    };
    let requests: Vec<_> = renewals
        .iter()
        .enumerate()
        .map(named)
        .collect::<Result<_, _>>()?;
    let expected = requests.len();
    let limit = service.0.limits.call_time;
    let outcomes = service
        .of_many(expected)
        .ask(limit, |store| async move {
            Ok(store.renew_many(&requests).await)
        })
        .await?;
    if outcomes.len() != expected {
        return Err(Code::Unknown.into());
    }
    let answers = outcomes.into_iter().map(|outcome| {
        let answer = match outcome {
            Ok(outcome) => renewed(outcome),
            Err(error) => Err(Box::new(of_store(&error))),
        };
        match answer {
            Ok(renewed) => RenewAnswer::Renewed(renewed),
            Err(problem) => RenewAnswer::Problem(problem),
        }
    });
    Ok(Json(RenewedMany {
        answers: answers.collect(),
    }))
}

/// Releases a term, or leaves its name closed.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/leases/release",
    tag = "leases",
    request_body = Release,
    responses(
        (status = 200, description = "It is released, now or earlier.", body = Released),
        (status = 409, description = "`not-held`: the record is not of this term.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn release(
    Allowed {
        service, namespace, ..
    }: Allowed<ToKeep>,
    Body(body): Body<Release>,
) -> Answer<Released> {
    let name = namespace.stored(&body.name, "/name")?;
    let request = body.into_request(name).map_err(|error| {
        Refusal::from(
            Problem::new(Code::BadRequest)
                .detail(error.to_string())
                .pointer("/closing"),
        )
    })?;
    if request.closing.is_some() && !service.0.provider.capabilities().closing {
        let problem = Problem::new(Code::BadRequest).detail("this store can close no names");
        return Err(problem.pointer("/closing").into());
    }
    let limit = service.0.limits.call_time;
    let outcome = service
        .ask(limit, |store| async move { store.release(&request).await })
        .await?;
    released(outcome)
}

fn renewal(namespace: &Namespace, body: &Renew, pointer: &str) -> Result<provider::Renew, Refusal> {
    let name = namespace.stored(&body.name, pointer)?;
    let request = provider::Renew::new(name, pseudonym(body.uuid), body.n);
    request.check().map_err(|error| not_possible(&error))?;
    Ok(request)
}

fn renewed(outcome: RenewOutcome) -> Result<Renewed, Box<Problem>> {
    match outcome {
        RenewOutcome::Renewed { asked } => Ok(Renewed { asked }),
        RenewOutcome::Lost(record) => Err(Box::new(
            Problem::new(Code::Lost).record(record.map(Into::into)),
        )),
    }
}
