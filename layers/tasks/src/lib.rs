#![doc = include_str!("../README.md")]

mod backoff;
mod claim;
mod ending;
pub mod json;
pub mod limits;
mod outcome;
mod payload;
mod periodic;
mod store;
mod task;
mod worker;

pub use self::{
    claim::{
        Claim, ClaimKey, ClaimName, Claimed, ClaimedTask, DEAD_IN_A_CLAIM, LostClaim, NoClaim,
    },
    ending::{Ended, Ending, How, Kept},
    outcome::{BadJson, Stop},
    payload::Payload,
    periodic::{BadSchedule, Periodic, Schedule, Served},
    store::{Ages, Count, Filter, LimitedQueue, PausedQueue, TaskStore},
    task::{
        Enqueued, FailedAttempt, Holder, KeyUntil, NewTask, NewTaskBuilder, NoState, State, Task,
        TaskId, When,
    },
    worker::{
        Attempt, BuildError, CheckpointError, Context, DrainError, Drained, Worker, WorkerBuilder,
    },
};
