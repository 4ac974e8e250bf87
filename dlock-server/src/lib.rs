#![doc = include_str!("../README.md")]

pub mod api;
mod body;
mod calls;
mod describe;
mod events;
mod guard;
mod health;
mod hints;
mod leases;
mod limits;
pub mod listen;
mod measure;
mod names;
mod number;
mod pace;
mod problem;
pub mod program;
mod renewals;
mod rights;
mod router;
mod service;
mod tasks;
mod waits;

pub use self::{
    guard::Peer,
    limits::Limits,
    measure::describe as describe_metrics,
    rights::{InvalidRights, Right, Rights},
    router::router,
    service::Service,
};
