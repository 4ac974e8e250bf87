//! One lease, or a page of them, and the history of one.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use dlock_core::provider;
use dlock_http::{
    Code, Problem,
    leases::{History, Lease, Page, Record, Unreadable},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    Service,
    asking::Asking,
    body::Asked,
    guard::{Allowed, ToLook, ToRead},
    memory::PageSize,
    names::{InNamespace, Namespace},
    problem::Refusal,
};

/// The most records of a page.
const MOST: usize = 1_000;

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(look))
        .routes(routes!(history))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Only names that start with this.
    #[serde(default)]
    prefix: String,
    /// Only names after this one: `next` of the previous page.
    after: Option<String>,
    /// At most this many, 100 if not given, and never more than 1,000.
    limit: Option<usize>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Named {
    /// The name.
    name: String,
}

/// A page of leases, in byte order of their names. It ends after a megabyte: if there are more, there is a
/// `next`.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/leases",
    tag = "leases",
    params(Which, InNamespace),
    responses(
        (status = 200, description = "The page.", body = Page),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn list(
    Allowed {
        service, namespace, ..
    }: Allowed<ToRead>,
    Asked(Which {
        prefix,
        after,
        limit,
    }): Asked<Which>,
) -> Result<Json<Page>, Refusal> {
    let after = match after {
        Some(after) => namespace.stored(&after, "/after")?,
        None => namespace.before_all()?,
    };
    let limit = limit.unwrap_or(100).min(MOST);
    let prefix = namespace.stored_prefix(&prefix)?;
    page(&service, &namespace, prefix, after, limit)
        .await
        .map(Json)
}

/// The leases whose names in the store begin with this, starting with the one after `after`.
pub(super) async fn page(
    service: &Asking,
    namespace: &Namespace,
    prefix: String,
    after: dlock_core::Name,
    most: usize,
) -> Result<Page, Refusal> {
    let _place = service.page().await?;
    let request = provider::List::new(prefix).after(Some(after)).limit(most);
    let limit = service.0.limits.call_time;
    let page = service
        .ask(limit, |store| async move { store.list(&request).await })
        .await?;
    let shown = |name: &dlock_core::Name| {
        let name = namespace.shown(name.as_str()).unwrap_or_default();
        name.to_owned()
    };
    let mut found = Page {
        next: page.next.as_ref().map(shown),
        unreadable: page
            .unreadable
            .iter()
            .map(|(name, why)| Unreadable {
                name: shown(name),
                why: why.clone(),
            })
            .collect(),
        leases: page
            .records
            .into_iter()
            .map(|(name, record)| Lease {
                name: shown(&name),
                election: record.data.as_deref() == Some(dlock_election::RECORD_DATA),
                revoked: service.0.journal.is_revoked(&name, &record),
                record: record.into(),
            })
            .collect(),
    };
    let mut size = PageSize::default();
    let full = found
        .leases
        .iter()
        .position(|lease| size.is_full_with(lease));
    if let Some(last) = full.filter(|last| last + 1 < found.leases.len()) {
        found.leases.truncate(last + 1);
        let last = found.leases.last().map(|lease| lease.name.clone());
        found
            .unreadable
            .retain(|row| Some(&row.name) <= last.as_ref());
        found.next = last;
    }
    Ok(found)
}

/// One lease as the store has it now.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/leases/one",
    tag = "leases",
    params(Named, InNamespace),
    responses(
        (status = 200, description = "The record.", body = Record),
        (status = 404, description = "`not-found`: the store has no record of this name.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn look(
    Allowed {
        service, namespace, ..
    }: Allowed<ToLook>,
    Asked(Named { name }): Asked<Named>,
) -> Result<Response, Refusal> {
    let name = namespace.stored(&name, "/name")?;
    let limit = service.0.limits.call_time;
    let record = service
        .ask(limit, |store| async move { store.read(&name).await })
        .await?;
    match record {
        Some(record) => Ok(Json(Record::from(record)).into_response()),
        None => Err(Code::NotFound.into()),
    }
}

/// The events of a lease that this server has seen. The store is not called.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/leases/history",
    tag = "leases",
    params(Named, InNamespace),
    responses(
        (status = 200, description = "What it has seen in the last seven days; nothing of a name that it has not seen.", body = History),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn history(
    Allowed {
        service, namespace, ..
    }: Allowed<ToRead>,
    Asked(Named { name }): Asked<Named>,
) -> Result<Json<History>, Refusal> {
    let name = namespace.stored(&name, "/name")?;
    Ok(Json(service.0.journal.of(&name)))
}
