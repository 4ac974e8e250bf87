//! Elapsed time, chance, and the times of a lease.

mod clock;
mod entropy;
mod plan;

pub use self::clock::{Clock, Machine, ManualClock, Standstill};
pub(crate) use self::{
    clock::{Look, Tick},
    entropy::Entropy,
    plan::{LEAST_PAUSE, Plan, default_poll},
};
