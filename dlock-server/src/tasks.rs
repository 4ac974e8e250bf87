//! `/v1/{namespace}/tasks` and `/v1/{namespace}/queues`: each request is one call of the store of tasks, and one that was
//! refused is a second.
//!
//! A queue has its namespace and a slash before its name in the store, and a number says nothing of its task's
//! namespace. So what names a number alone (a look, a cancellation, a retry) reads the task first. That is no race: a
//! task never changes its queue, and no number is used twice.
//!
//! What ends or keeps a claim proves itself by uuid and token instead, and is not looked up: only its
//! claimer knows the uuid, of which the store has a pseudonym. A refusal tells what the task is doing, so
//! only then is it read, and one of another namespace is as if it were not there.

mod change;
mod claim;
mod claims;
mod ending;
mod enqueue;
mod events;
mod hints;
mod line;
mod live;
mod prune;
mod queues;
mod request;
mod show;
pub(crate) mod store;
mod wait;
mod whose;

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
