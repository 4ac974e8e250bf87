//! `/api`: the lease service and the task service of a sample application, "leases on PostgreSQL", with its paths,
//! bodies and statuses, so that programs written for it run here. Its mistakes are corrected: a request for something
//! that does not exist, or is not the caller's, never succeeds, and a claim that has ended ends nothing.
//!
//! It is a second interface to the contents of `/v1`, and has no tables of its own:
//!
//! | the sample's | is |
//! |---|---|
//! | a lease of a resource | the lease with that name in the namespace `default`, for 30 s |
//! | the number of a lease | that of a task which never runs and has the resource as its key: assigned once, used for nothing else |
//! | `renewed_at` | the number of its newest renewal, which is the number of milliseconds since it was taken (`clock`) |
//! | `released_at` | when a lock next to it was taken, just before the release (`released`) |
//! | a task | a task of the queue `api` in the namespace `default` |
//! | the generator | a task that comes again every two seconds, on every server alike (`generator`) |
//!
//! Where these are kept, names begin with `~api`, which cannot be the name of a namespace, so `/v1` does not show them.
//!
//! Every instant in a row is by the store's clock, and reading rows writes nothing.

pub(crate) mod answer;
mod claims;
mod clock;
mod generator;
mod health;
mod keys;
mod lease;
mod leases;
mod lists;
mod numbers;
mod released;
mod task;
mod tasks;

use std::time::Duration;

use utoipa_axum::router::OpenApiRouter;

pub use self::generator::{generate, keep_on};
pub(crate) use self::numbers::forget_some;
use crate::Service;

/// How long leases and claims last.
const LEASE: Duration = Duration::from_secs(30);

/// The queue of the tasks, as the store has it.
pub const QUEUE: &str = "default/api";

/// The kind of the tasks.
pub const KIND: &str = "task";

pub(crate) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .merge(leases::routes())
        .merge(lists::routes())
        .merge(tasks::routes())
        .merge(generator::routes())
        .merge(health::routes())
        .layer(axum::middleware::map_response(answer::with_error))
}
