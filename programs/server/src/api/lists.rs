//! Reading leases.

use axum::{Json, http::StatusCode};
use dlock_core::{Name, Record, provider};
use dlock_http::{Code, Problem};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    answer::{Answer, Row},
    lease::{self, Lease, has_run_out, is_active},
    numbers, released,
};
use crate::{
    Service,
    asking::Asking,
    body::Asked,
    guard::{InApi, ToLook, ToRead},
    memory::PageSize,
    names::Namespace,
    number::Number,
    problem::Refusal,
    search::Search,
};

/// How many records are read at a time.
const PAGE: usize = 500;

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(all))
        .routes(routes!(active))
        .routes(routes!(expired))
        .routes(routes!(renewed))
        .routes(routes!(released_ones))
        .routes(routes!(one))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Start {
    /// Only resources after this one: `next` of the previous answer.
    after: Option<String>,
}

/// Leases, in byte order of their resources.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = sample::Leases)]
struct Leases {
    #[schema(value_type = Vec<Lease>)]
    leases: Vec<Row<Lease>>,
    /// There are more: repeat the request with `after` set to this resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident, $path:literal, $is_one:expr;)+) => {$(
        $(#[$doc])*
        #[utoipa::path(
            get,
            path = $path,
            tag = "sample",
            params(Start),
            responses(
                (status = 200, description = "The leases.", body = Leases),
                (status = "default", description = "See `code`.", body = Problem),
            ),
        )]
        async fn $name(
            InApi { service, namespace, .. }: InApi<ToRead>,
            Asked(start): Asked<Start>,
        ) -> Answer<Leases> {
            list(&service, &namespace, start, $is_one).await
        }
    )+};
}

lists! {
    /// All leases that exist or existed, the newest of each resource.
    all, "/api/leases", |_| true;
    /// Leases that are held.
    active, "/api/leases/active", is_active;
    /// Leases that have run out and were not taken again since.
    expired, "/api/leases/expired", has_run_out;
    /// Leases that were renewed.
    renewed, "/api/leases/renewed", |record| record.renewals > 0;
    /// Leases that were released and were not taken again since.
    released_ones, "/api/leases/released", |record| record.released;
}

async fn list(
    service: &Asking,
    namespace: &Namespace,
    start: Start,
    is_one: impl Fn(&Record) -> bool,
) -> Answer<Leases> {
    let mut after = match start.after {
        Some(resource) => Some(namespace.stored(&resource, "/after")?),
        None => None,
    };
    let (mut leases, mut size) = (Vec::new(), PageSize::default());
    let _place = service.page().await?;
    let mut search = Search::new();
    while search.continues(!leases.is_empty()) {
        let request = provider::List::new(namespace.prefix())
            .after(after.clone())
            .limit(PAGE);
        let limit = service.0.limits.call_time;
        let page = service
            .ask(limit, |store| async move { store.list(&request).await })
            .await?;
        let mut records = page.records;
        records.retain(|(_, record)| is_one(record));
        let rows = rows(service, namespace, after.as_ref(), &records).await?;
        let is_full = size.is_full_with(&rows);
        leases.extend(rows);
        after = page.next;
        if is_full || after.is_none() {
            break;
        }
    }
    let next = after.and_then(|name| Some(namespace.shown(name.as_str())?.to_owned()));
    Ok((StatusCode::OK, Json(Leases { leases, next })))
}

async fn rows(
    service: &Asking,
    namespace: &Namespace,
    after: Option<&Name>,
    records: &[(Name, Record)],
) -> Result<Vec<Row<Lease>>, Refusal> {
    let released = released::of_page(service, after, PAGE, records).await?;
    let rows = records.iter().filter_map(|(name, record)| {
        let resource = namespace.shown(name.as_str())?.to_owned();
        let released = released.get(name).copied();
        Some(Lease::new(
            lease::number(record),
            resource,
            record,
            released,
        ))
    });
    Ok(rows.collect())
}

/// One lease.
#[utoipa::path(
    get,
    path = "/api/leases/{id}",
    tag = "sample",
    responses(
        (status = 200, description = "The lease.", body = Lease),
        (status = 404, description = "This number does not exist.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(("id" = i64, Path, description = "The number of the lease")),
)]
async fn one(
    InApi {
        service, namespace, ..
    }: InApi<ToLook>,
    Number(id): Number,
) -> Answer<Row<Lease>> {
    let name = numbers::name(&service, id).await?;
    let name = name.filter(|name| namespace.shown(name.as_str()).is_some());
    let Some(name) = name else {
        return Err(Code::NotFound.into());
    };
    let record = lease::record(&service, &name).await?;
    let id = Some(id.get());
    let row = lease::row(&service, &namespace, id, &name, &record).await?;
    Ok((StatusCode::OK, Json(row)))
}
