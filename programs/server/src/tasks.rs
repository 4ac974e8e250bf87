//! `/v1/{namespace}/tasks` and `/v1/{namespace}/queues`: each request is one call of the store of tasks; a refusal
//! takes a second call.
//!
//! In the store, the name of a queue begins with its namespace and a slash, and a number says nothing about its task's
//! namespace. So a request that names a number only (a read, a cancellation, a retry) reads the task first. That is no
//! race: a task never changes its queue, and no number is used twice.
//! A request that ends or keeps a claim proves itself by uuid and token instead, and needs no such read: only its
//! claimer knows the uuid, of which the store has a pseudonym. A refusal says what the task is doing, so only then is
//! the task read, and a task of another namespace is treated as if it did not exist.

mod change;
mod claim;
mod claims;
mod ending;
mod enqueue;
mod events;
mod hints;
mod line;
mod live;
mod namespace;
mod prune;
mod queues;
mod request;
mod show;
pub(crate) mod store;
mod wait;

use utoipa_axum::router::OpenApiRouter;

use crate::Service;

pub(crate) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .merge(enqueue::routes())
        .merge(claim::routes())
        .merge(claims::routes())
        .merge(ending::routes())
        .merge(show::routes())
        .merge(live::routes())
        .merge(change::routes())
        .merge(queues::routes())
        .merge(events::routes())
}
