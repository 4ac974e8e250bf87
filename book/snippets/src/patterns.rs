//! "Patterns": a lock in the places where services need one.

pub mod consumer;
pub mod customer;
pub mod leader;
pub mod migration;
pub mod worker;
