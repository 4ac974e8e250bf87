//! Claims as leases: heartbeats, giving back, and reading.

use axum::Json;
use dlock_core::FencingToken;
use dlock_core::{
    Name,
    provider::{self, ReleaseOutcome, RenewOutcome},
};
use dlock_http::{
    Code, Problem,
    leases::{Done, Record, RenewAnswer, Renewed, RenewedMany},
    pseudonym,
    tasks::{Heartbeat, Heartbeats, Key},
};
use dlock_tasks::{ClaimKey, TaskId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    namespace,
    request::{Answer, MOST},
};
use crate::{
    Service,
    body::{Asked, Body},
    guard::{Allowed, ToClaim, ToWork},
    names::InNamespace,
    problem::{Refusal, not_possible, of_store},
    store_calls::Class,
};

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(heartbeat))
        .routes(routes!(release))
        .routes(routes!(lease))
}

/// Keeps up to 500 claims, each independently.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/tasks/heartbeat",
    tag = "tasks",
    request_body = Heartbeats,
    responses(
        (status = 200, description = "An answer for each, in their order: `lost` with the `state` of the task.", body = RenewedMany),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn heartbeat(
    Allowed {
        service, namespace, ..
    }: Allowed<ToWork>,
    Body(Heartbeats { heartbeats }): Body<Heartbeats>,
) -> Answer<RenewedMany> {
    if heartbeats.len() > MOST {
        let detail = format!("at most {MOST} heartbeats are taken at a time");
        let problem = Problem::new(Code::BadRequest).detail(detail);
        return Err(problem.pointer("/heartbeats").into());
    }
    let renewals = heartbeats.iter().map(|beat| {
        let name = name(ClaimKey::new(beat.id, Uuid::nil(), beat.token))?;
        let renewal = provider::Renew::new(name, pseudonym(beat.uuid), beat.n);
        renewal.check().map_err(|error| not_possible(&error))?;
        Ok::<_, Refusal>(renewal)
    });
    let renewals: Vec<_> = renewals.collect::<Result<_, _>>()?;
    let limit = service.0.limits.call_time;
    let outcomes = service
        .of_many(heartbeats.len())
        .ask_tasks(limit, |store| async move {
            Ok(store.claims().renew_many(&renewals).await)
        })
        .await?;
    if outcomes.len() != heartbeats.len() {
        return Err(Code::Unknown.into());
    }
    let is_lost = |outcome: &Result<_, _>| matches!(outcome, Ok(RenewOutcome::Lost(_)));
    let lost = heartbeats.iter().zip(&outcomes);
    let lost = lost.filter(|(_, outcome)| is_lost(outcome));
    let lost: Vec<TaskId> = lost.map(|(Heartbeat { id, .. }, _)| *id).collect();
    let mut states = namespace::states(&service, &namespace, lost)
        .await
        .into_iter();
    let answers = outcomes.into_iter().map(|outcome| match outcome {
        Ok(RenewOutcome::Renewed { asked }) => RenewAnswer::Renewed(Renewed { asked }),
        Ok(RenewOutcome::Lost(_)) => {
            let problem = Problem::new(Code::Lost).state(states.next().flatten());
            RenewAnswer::Problem(Box::new(problem))
        }
        Err(error) => RenewAnswer::Problem(Box::new(of_store(&error))),
    });
    Ok(Json(RenewedMany {
        answers: answers.collect(),
    }))
}

/// Gives a task back, as a lease is given back: the attempt does not count.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/tasks/release",
    tag = "tasks",
    request_body = Key,
    responses(
        (status = 200, description = "It is given back, now or earlier.", body = Done),
        (status = 409, description = "`not-held`: the claim has ended.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn release(
    Allowed {
        service, namespace, ..
    }: Allowed<ToWork>,
    Body(key): Body<Key>,
) -> Answer<Done> {
    let request = provider::Release::new(name(key.into())?, pseudonym(key.uuid), Some(key.token));
    let limit = service.0.limits.call_time;
    let outcome = service
        .ask_tasks(limit, |store| async move {
            store.claims().release(&request).await
        })
        .await?;
    let ReleaseOutcome::NotHeld(record) = outcome else {
        return Ok(Json(Done {}));
    };
    let states = namespace::states(&service, &namespace, vec![key.id]).await;
    let state = states.into_iter().next().flatten();
    // The record belongs to the worker that has the task now.
    let record = record.filter(|_| state.is_some());
    let problem = Problem::new(Code::NotHeld).record(record.map(Into::into));
    Err(problem.state(state).into())
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Which {
    /// The task.
    #[param(value_type = i64, minimum = 1)]
    id: TaskId,
    /// The token of the claim.
    #[param(value_type = u64, minimum = 1, maximum = 9007199254740991_u64)]
    token: FencingToken,
}

/// A claim as the store has it now.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/tasks/lease",
    tag = "tasks",
    params(Which, InNamespace),
    responses(
        (status = 200, description = "The record.", body = Record),
        (status = 404, description = "`not-found`: the newest claim of the task is another one.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn lease(
    Allowed {
        service, namespace, ..
    }: Allowed<ToClaim>,
    Asked(Which { id, token }): Asked<Which>,
) -> Answer<Record> {
    let name = name(ClaimKey::new(id, Uuid::nil(), token))?;
    let service = service.lowered(Class::List);
    namespace::task(&service, &namespace, id).await?;
    let limit = service.0.limits.call_time;
    let record = service
        .ask_tasks(
            limit,
            |store| async move { store.claims().read(&name).await },
        )
        .await?;
    record
        .map(|record| Json(record.into()))
        .ok_or_else(|| Code::NotFound.into())
}

fn name(key: ClaimKey) -> Result<Name, Refusal> {
    // Two numbers and a slash are always a valid name.
    Name::new(key.name().to_string()).map_err(|_| Code::Fatal.into())
}
