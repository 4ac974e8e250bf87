//! The lease protocol of dlock as a model, and a search through all of its states.
//!
//! It states the protocol's rules a second time, written from the rules and not from the code, and shows
//! that they keep their promises under loss, copies, delay and reordering of messages, clocks that
//! go wrong, and crashes. Whether the code keeps the rules is left to the simulation and to the
//! tests. The README lists what is modelled, what is not, and what was searched.

mod action;
mod arrival;
pub mod cas;
mod choice;
mod client;
mod config;
mod dominance;
mod encoded;
mod event;
mod model;
mod normal;
mod property;
mod run;
mod state;
mod step;
mod store;
mod succession;
mod suite;
mod trap;
pub mod turns;
pub mod wake;

pub use action::{Action, Drift};
pub use config::{Config, Discipline};
pub use event::{Event, Seen};
pub use model::Protocol;
pub use property::Property;
pub use run::{Outcome, search, shortest};
pub use state::{
    ATTEMPTS, Attempt, CLIENTS, CLOSED, Claim, Client, Ground, Id, LEASES, NOBODY, Phase, REPLIES,
    REVOKED, Record, Reply, Resource, Revoke, Row, State, TERMS, Term, Version,
};
pub use store::Rule;
pub use suite::{Entry, suite};
pub use trap::{Control, Trap};
