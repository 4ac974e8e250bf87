//! The real [`Worker`](dlock_tasks::Worker) in a simulated world: several processes that crash, are dropped, stop and
//! start again, with clocks that drift, over a network that loses, delays and repeats, all in virtual time.
//!
//! A [`Plan`] describes the events as plain data; [`Plan::from_seed`] draws one, [`Plan::run`] plays it. While it runs,
//! every call of a worker, and its effect in the store, is compared with the rules. Every deviation is a [`Violation`];
//! virtual time needs no slack.
//!
//! The simulation has its own loop that serves the instants of schedules: the worker's reads the machine's wall clock,
//! which stands still here.
//!
//! ```
//! use dlock_proof::tasks::simulation::Plan;
//!
//! let run = Plan::from_seed(7).run();
//! assert!(run.violations.is_empty(), "{:#?}", run.violations);
//! assert!(run.figures.grants > 0);
//! ```

mod generate;
mod handler;
mod monitor;
mod plan;
mod process;
mod report;
mod wire;
mod world;

/// The parts that the cancellation of the worker uses, too.
pub(super) mod inside {
    pub(in crate::tasks) use super::{
        handler::Planned,
        monitor::Monitor,
        plan::End,
        process::{Parts, Process, Surroundings},
    };
}

pub use self::{
    monitor::Violation,
    plan::{Calls, Effect, End, Fault, How, Life, Plan, TaskPlan, WorkerPlan},
    report::Figures,
    world::Run,
};
