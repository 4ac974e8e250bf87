//! Tasks: the requests to `/v1/{namespace}/tasks`, and their answers.
//!
//! A claim is a lease. Its uuid is the client's, as is the clock by which the client trusts it. Queues and schedules
//! are named without the namespace.

mod claim;
mod ending;
mod new;
mod overview;
mod queue;
mod show;

pub use self::{
    claim::{Claim, Claimed, ClaimedTask, Heartbeat, Heartbeats, Key},
    ending::{
        Checkpoint, Complete, Discard, Ended, EndedMany, Ending, EndingAnswer, Endings, Fail,
        GiveBack, How, Snooze,
    },
    new::{Enqueue, EnqueuePeriodic, Enqueued, EnqueuedMany, NewTask, Served},
    overview::{Line, Overview},
    queue::{Limited, Queue, Queues, SetQueue},
    show::{
        Cancel, Cancelled, Count, Counts, FailedAttempt, Hint, Holder, Page, Prune, Pruned, Retry,
        Task,
    },
};

/// The header of a claim that found nothing: in how many milliseconds a task falls due or a lease runs out, if the
/// store knows.
pub const NEXT_MS: &str = "dlock-next-ms";

/// Distinguishes `null`, which is a value, from an absent field.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    serde::Deserialize::deserialize(deserializer).map(Some)
}
