//! Elapsed time, chance, and the times of a lease.

mod clock;
mod entropy;
mod instant;
mod plan;
mod stopwatch;

#[cfg(test)]
pub(crate) use self::plan::tests::plan_of;
pub use self::{
    clock::{Clock, ManualClock, SimulatedTime},
    stopwatch::Stopwatch,
};
pub(crate) use self::{
    entropy::Entropy,
    instant::{ContenderInstant, HolderInstant},
    plan::{LEAST_PAUSE, Plan, default_poll, step_of},
};
