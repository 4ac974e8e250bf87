//! The real frontend in a simulated world: several clients on separate machines, whose clocks run at different rates
//! and which may stop, sleep or die; a network that loses, delays, repeats and refuses; a store whose clock steps and
//! which may lose its memory; users who cancel, look away and panic. Virtual time, one thread, no real randomness: one
//! seed, one history, byte for byte.
//!
//! A [`Plan`] describes the events as plain data; [`Plan::from_seed`] draws one, [`Plan::run`] plays it. While it runs,
//! every call and every answer is compared with the protocol, and every deviation is a [`Violation`]. A fault can be
//! left out of a plan and the remainder played again: [`Plan::shrink`] reduces a failure to the faults it needs.
//!
//! ```
//! use dlock_core::provider::Discipline;
//! use dlock_proof::simulation::Plan;
//!
//! let run = Plan::from_seed(7, Discipline::Observer).run();
//! assert!(run.violations.is_empty(), "{:#?}", run.violations);
//! assert!(run.figures.calls > 0);
//! ```

mod attend;
mod chronicle;
mod counter;
mod generate;
mod monitor;
mod plan;
mod report;
mod resource;
mod spans;
mod wire;
mod worker;
mod world;

pub use self::{
    plan::{
        Away, Broken, Cancel, ClientPlan, Copies, Effect, Ending, Fault, HandlePlan, Plan,
        Settings, Step, StoreEvent, Usage, Way, WorkEnd, WritePlan,
    },
    report::{Figures, Violation},
    world::Run,
};
