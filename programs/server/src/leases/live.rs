//! A page of leases, as it changes.

use axum::response::IntoResponse;
use dlock_http::{Code, Problem, leases::Page};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::list;
use crate::{
    Service,
    body::Asked,
    guard::{Allowed, ToRead},
    live,
    live_queries::View,
    names::InNamespace,
    problem::Refusal,
    search::Search,
};

/// The leases of a page.
const MOST: usize = 100;

/// Elections are searched for among this many leases, so that one query fills a page of them, too.
const MOST_BESIDE_ELECTIONS: usize = 1_000;

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new().routes(routes!(watch))
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
    /// Only leases of elections. The page then has those found among the next 1,000 names, or, as long as none is
    /// found, the thousands after them, for two seconds. So it may be short although there are more: then there is a
    /// `next`.
    #[serde(default)]
    elections: bool,
}

/// A page of leases as server-sent events: once a second, or less often where a read takes long, an event `page` with
/// all of it, `same` if nothing has changed, or `problem`. All watchers of the same page share one read of the store.
#[utoipa::path(
    get,
    path = "/v1/{namespace}/leases/live",
    tag = "leases",
    responses(
        (status = 200, description = "Events `page`, `same` and `problem`.", body = Page, content_type = "text/event-stream"),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(Which, InNamespace),
)]
async fn watch(
    Allowed {
        service,
        namespace,
        ended,
        ..
    }: Allowed<ToRead>,
    Asked(Which {
        prefix,
        after,
        elections,
    }): Asked<Which>,
) -> Result<impl IntoResponse, Refusal> {
    let entered = live::enter(&service, ended)?;
    let after = match after {
        Some(after) => namespace.stored(&after, "/after")?,
        None => namespace.before_all()?,
    };
    let prefix = namespace.stored_prefix(&prefix)?;
    let view = View::Leases {
        namespace: namespace.clone(),
        prefix: prefix.clone(),
        after: after.clone(),
        elections,
    };
    let most = if elections {
        MOST_BESIDE_ELECTIONS
    } else {
        MOST
    };
    // All watchers share its reads.
    let asked = service.clone().on_behalf_of(None);
    live::of(&service, entered, view, move || {
        let (service, namespace) = (asked.clone(), namespace.clone());
        let (prefix, after) = (prefix.clone(), after.clone());
        async move {
            let mut page = list::page(&service, &namespace, prefix.clone(), after, most).await?;
            page.leases.retain(|lease| lease.election || !elections);
            let mut search = Search::new();
            while let Some(next) = page.next.clone()
                && elections
                && page.leases.is_empty()
                && search.continues(false)
            {
                let (after, prefix) = (namespace.stored(&next, "/after")?, prefix.clone());
                page = list::page(&service, &namespace, prefix, after, most).await?;
                page.leases.retain(|lease| lease.election);
            }
            serde_json::to_string(&page).map_err(|_| Code::Fatal.into())
        }
    })
}
