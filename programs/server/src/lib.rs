#![doc = include_str!("../README.md")]

pub mod api;
mod asking;
mod audit;
mod body;
mod calls;
mod cookie;
mod describe;
mod events;
mod guard;
mod health;
mod hints;
mod journal;
mod leases;
mod limits;
pub mod listen;
mod live;
mod measure;
mod memory;
mod names;
mod number;
mod pace;
mod page;
mod problem;
pub mod program;
mod renewals;
mod rights;
mod router;
mod search;
mod sender;
mod service;
mod session;
mod share;
mod tasks;
mod views;
mod waits;

pub use self::{
    limits::Limits,
    measure::describe as describe_metrics,
    rights::{InvalidRights, Right, Rights},
    router::router,
    sender::Peer,
    service::Service,
};
