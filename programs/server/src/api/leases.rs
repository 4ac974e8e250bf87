//! Having a lease: `POST /api/leases`, renew, release.

use axum::{Json, http::StatusCode};
use dlock_core::{
    Name, Record,
    provider::{self, AcquireOutcome, ReleaseOutcome, RenewOutcome},
};
use dlock_http::{Code, Problem, pseudonym};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    LEASE,
    answer::{Answer, Row, of_written},
    clock,
    keys::Key,
    lease::{self, Lease, is_active},
    numbers, released,
};
use crate::{
    Service,
    asking::Asking,
    body::Body,
    guard::{InApi, ToHold, ToKeep},
    names::Namespace,
    number::Number,
    problem::{Refusal, not_possible},
};

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(take))
        .routes(routes!(renew))
        .routes(routes!(release))
        .routes(routes!(release_by_number))
}

/// A holder and the lease it means.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = sample::Holding)]
#[serde(deny_unknown_fields)]
struct Meant {
    /// The name to lock, not empty.
    resource: String,
    /// The label of the holder, not empty.
    holder: String,
    /// The term that is meant, by the uuid that was drawn for it or as a row shows it. Without it, the term that this
    /// holder has now: two clients with the same label count as one.
    #[serde(default)]
    uuid: Option<Uuid>,
}

/// The answer where there is no row to show.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = sample::Message)]
struct Message {
    message: String,
}

/// Takes a lease of 30 s, if the lease is free. With a `uuid` drawn for this try, or the header `Idempotency-Key`, a
/// repeat after a lost answer is the same try.
#[utoipa::path(
    post,
    path = "/api/leases",
    tag = "sample",
    request_body = Meant,
    responses(
        (status = 201, description = "The lease.", body = Lease),
        (status = 409, description = "`held`, with the record; or `spent`.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn take(
    InApi {
        service, namespace, ..
    }: InApi<ToHold>,
    key: Key,
    Body(meant): Body<Meant>,
) -> Answer<Row<Lease>> {
    let name = meant.name(&namespace)?;
    // A name under which nothing could be released is refused at once.
    released::is_possible(&name)?;
    let uuid = key.uuid(meant.uuid, &[&meant.resource, &meant.holder]);
    let mut request = provider::Acquire::new(name.clone(), uuid, LEASE).owner(meant.holder);
    request.check().map_err(|error| not_possible(&error))?;
    let limit = service.0.limits.call_time.min(LEASE / 6);
    let found = name.clone();
    let found = service
        .ask(limit, |store| async move { store.read(&found).await })
        .await?;
    let id = match found {
        // A refused request gets no number.
        Some(record) if record.uuid != uuid && is_active(&record) => return Err(held(record)),
        found => numbers::of(&service, &name, found.as_ref().and_then(lease::number)).await?,
    };
    request = request.data(Some(lease::mark(id)));
    let outcome = service
        .ask(limit, |store| async move { store.acquire(&request).await })
        .await?;
    match outcome {
        AcquireOutcome::Acquired(_) => {}
        AcquireOutcome::Held(record) => return Err(held(record)),
        AcquireOutcome::Spent => return Err(Code::Spent.into()),
    }
    let service = service.granted();
    let record = of_written(lease::record(&service, &name).await)?;
    if record.uuid != uuid {
        return Err(Code::Lost.into());
    }
    created(&service, &namespace, &name, &record).await
}

/// Extends a lease to 30 s from now.
#[utoipa::path(
    put,
    path = "/api/leases/renew",
    tag = "sample",
    request_body = Meant,
    responses(
        (status = 201, description = "The lease.", body = Lease),
        (status = 404, description = "This holder does not have it.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn renew(
    InApi {
        service, namespace, ..
    }: InApi<ToKeep>,
    Body(meant): Body<Meant>,
) -> Answer<Row<Lease>> {
    let name = meant.name(&namespace)?;
    let record = lease::record(&service, &name).await?;
    if !meant.is_of(&record) {
        return Err(not_theirs());
    }
    let renewal = lease::renewal(&record, clock::now(&service).await?);
    let request = provider::Renew::new(name.clone(), record.uuid, renewal);
    request.check().map_err(|error| not_possible(&error))?;
    let outcome = service.renew(request).await?;
    match outcome {
        RenewOutcome::Renewed { .. } => {}
        RenewOutcome::Lost(_) => return Err(not_theirs()),
    }
    let renewed = of_written(lease::record(&service, &name).await)?;
    if renewed.uuid != record.uuid {
        return Err(not_theirs());
    }
    created(&service, &namespace, &name, &renewed).await
}

/// Releases a lease.
#[utoipa::path(
    delete,
    path = "/api/leases/release",
    tag = "sample",
    request_body = Meant,
    responses(
        (status = 201, description = "The lease, released.", body = Lease),
        (status = 404, description = "This holder does not have it.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn release(
    InApi {
        service, namespace, ..
    }: InApi<ToKeep>,
    Body(meant): Body<Meant>,
) -> Answer<Row<Lease>> {
    let name = meant.name(&namespace)?;
    let record = give_back(&service, &name, &meant).await?;
    created(&service, &namespace, &name, &record).await
}

/// Releases a lease, by its number.
#[utoipa::path(
    delete,
    path = "/api/leases/{id}",
    tag = "sample",
    request_body = Meant,
    responses(
        (status = 200, description = "It is released.", body = Message),
        (status = 404, description = "There is no such lease, or this holder does not have it.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(("id" = i64, Path, description = "The number of the lease")),
)]
async fn release_by_number(
    InApi {
        service, namespace, ..
    }: InApi<ToKeep>,
    Number(id): Number,
    Body(meant): Body<Meant>,
) -> Answer<Message> {
    let name = meant.name(&namespace)?;
    if numbers::name(&service, id).await?.as_ref() != Some(&name) {
        let detail = "no lease of this resource has this number";
        return Err(Refusal::new(Code::NotFound, detail));
    }
    give_back(&service, &name, &meant).await?;
    let message = format!("lease {id} is released");
    Ok((StatusCode::OK, Json(Message { message })))
}

async fn give_back(service: &Asking, name: &Name, meant: &Meant) -> Result<Record, Refusal> {
    let record = lease::record(service, name).await?;
    if meant.uuid.is_some() && meant.is_of(&record) && record.released {
        // A repeat.
        return Ok(record);
    }
    if !(meant.is_of(&record) && is_active(&record)) {
        return Err(not_theirs());
    }
    released::keep(service, name, record.uuid).await?;
    let request = provider::Release::new(name.clone(), record.uuid, Some(record.token));
    let limit = service.0.limits.call_time;
    let outcome = service
        .ask(limit, |store| async move { store.release(&request).await })
        .await?;
    if let ReleaseOutcome::NotHeld(_) = outcome {
        return Err(not_theirs());
    }
    let mut released = record;
    released.released = true;
    released.remaining = None;
    Ok(released)
}

async fn created(
    service: &Asking,
    namespace: &Namespace,
    name: &Name,
    record: &Record,
) -> Answer<Row<Lease>> {
    let id = lease::number(record);
    let row = lease::row(service, namespace, id, name, record).await;
    Ok((StatusCode::CREATED, Json(of_written(row)?)))
}

fn held(record: Record) -> Refusal {
    let problem =
        Problem::new(Code::Held).detail(format!("the resource is leased by {:?}", record.owner));
    problem.record(Some(record.into())).into()
}

fn not_theirs() -> Refusal {
    Refusal::new(Code::NotFound, "this holder does not have this lease")
}

impl Meant {
    fn name(&self, namespace: &Namespace) -> Result<Name, Refusal> {
        if self.holder.is_empty() {
            let problem = Problem::new(Code::BadRequest).detail("the holder is empty");
            return Err(problem.pointer("/holder").into());
        }
        namespace.stored(&self.resource, "/resource")
    }

    fn is_of(&self, record: &Record) -> bool {
        let is_ours = lease::number(record).is_some();
        // As it was drawn, or as a row shows it.
        let is_meant = self
            .uuid
            .is_none_or(|uuid| [uuid, pseudonym(uuid)].contains(&record.uuid));
        is_ours && is_meant && self.holder == record.owner
    }
}
