#![doc = include_str!("../README.md")]

mod claim;
mod ending;
pub mod limits;
mod store;
mod task;

pub use self::{
    claim::{Claim, ClaimKey, ClaimName, Claimed, ClaimedTask, NoClaim},
    ending::{Ended, Ending, How, Kept},
    store::{Ages, Count, Filter, TaskStore},
    task::{Enqueued, FailedAttempt, Holder, NewTask, NoState, State, Task, TaskId, When},
};
