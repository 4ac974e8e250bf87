//! "Patterns": a lock in the places where services need one.

pub mod consumer;
pub mod crawlers;
pub mod customer;
pub mod leader;
pub mod migration;
pub mod report;
pub mod several;
pub mod threads;
pub mod worker;
