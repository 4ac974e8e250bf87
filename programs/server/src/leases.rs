//! `/v1/{namespace}/leases`: each request is one call of the store.

mod answer;
mod hold;
mod list;
mod live;
mod take;
mod wait;
mod watch;

use utoipa_axum::router::OpenApiRouter;

use crate::Service;

pub(crate) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .merge(hold::routes())
        .merge(take::routes())
        .merge(list::routes())
        .merge(live::routes())
        .merge(watch::routes())
}
