//! Taking leases away from other clients, and cleaning up.

use axum::Json;
use dlock_core::provider::{self, AskOutcome, RevokeOutcome};
use dlock_http::{
    Code, Problem,
    leases::{Ask, Done, Force, Purge, Purged, Released, Revoke},
    pseudonym,
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::answer::{Answer, refused, released};
use crate::{
    Service,
    body::Body,
    guard::{Allowed, AllowedEverywhere, ToAdmin, ToHold},
    names::InNamespace,
    problem::of_store,
    store_calls::Class,
};

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(ask))
        .routes(routes!(revoke))
        .routes(routes!(force))
        .routes(routes!(purge))
}

/// Asks the holder to give the lock back. The holder learns of it from its next renewal.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/leases/ask",
    tag = "leases",
    request_body = Ask,
    responses(
        (status = 200, description = "The holder is asked.", body = Done),
        (status = 409, description = "`changed`: this term does not hold it.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn ask(
    Allowed {
        service, namespace, ..
    }: Allowed<ToHold>,
    Body(Ask { name, uuid }): Body<Ask>,
) -> Answer<Done> {
    let request = provider::Ask::new(namespace.stored(&name, "/name")?, uuid);
    let limit = service.0.limits.call_time;
    let outcome = service
        .ask(limit, |store| async move { store.ask(&request).await })
        .await?;
    match outcome {
        AskOutcome::Asked => Ok(Json(Done {})),
        AskOutcome::Changed(record) => Err(refused(Code::Changed, record)),
    }
}

/// Takes a term away from its holder without granting it to another client: others get it when it has
/// expired.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/leases/revoke",
    tag = "leases",
    request_body = Revoke,
    responses(
        (status = 200, description = "It is taken away, now or earlier.", body = Done),
        (status = 409, description = "`changed`: the record is not as it was read.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn revoke(
    Allowed {
        service, namespace, ..
    }: Allowed<ToAdmin>,
    Body(Revoke { name, version, new }): Body<Revoke>,
) -> Answer<Done> {
    let name = namespace.stored(&name, "/name")?;
    let mut request =
        provider::Revoke::new(name, version.into()).map_err(|error| of_store(&error))?;
    request.new = pseudonym(new.unwrap_or(request.new));
    let limit = service.0.limits.call_time;
    let outcome = service
        .ask(limit, |store| async move { store.revoke(&request).await })
        .await?;
    match outcome {
        RevokeOutcome::Revoked => Ok(Json(Done {})),
        RevokeOutcome::Changed(record) => Err(refused(Code::Changed, record)),
    }
}

/// Frees a lock at once, **while its holder may believe in it until its deadline**. Only the fencing token
/// protects then; `revoke` is the safe way.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/leases/force",
    tag = "leases",
    request_body = Force,
    responses(
        (status = 200, description = "It is free.", body = Released),
        (status = 409, description = "`not-held`: the record is not of this term.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn force(
    Allowed {
        service, namespace, ..
    }: Allowed<ToAdmin>,
    Body(Force { name, uuid, token }): Body<Force>,
) -> Answer<Released> {
    let name = namespace.stored(&name, "/name")?;
    let sent = service.0.journal.sent();
    let request = provider::Release::new(name.clone(), uuid, Some(token));
    let limit = service.0.limits.call_time;
    let outcome = service
        .ask(limit, |store| async move { store.release(&request).await })
        .await?;
    service.0.journal.forced(sent, &name, uuid);
    released(outcome)
}

/// Deletes records that expired more than 7 days ago, of all namespaces.
#[utoipa::path(
    post,
    path = "/v1/purge",
    tag = "leases",
    request_body = Purge,
    responses(
        (status = 200, description = "How many there were.", body = Purged),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn purge(
    AllowedEverywhere { service, .. }: AllowedEverywhere<ToAdmin>,
    Body(Purge { limit: most }): Body<Purge>,
) -> Answer<Purged> {
    let limit = service.0.limits.call_time;
    let deleted = service
        .lowered(Class::List)
        .ask(limit, |store| async move { store.purge(most).await })
        .await?;
    Ok(Json(Purged { deleted }))
}
