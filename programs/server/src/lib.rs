#![doc = include_str!("../README.md")]

pub mod api;
mod asking;
mod audit;
mod body;
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
mod live_queries;
mod long_polls;
mod measure;
mod memory;
mod names;
mod number;
mod origin;
mod page;
mod problem;
pub mod program;
mod rate_limit;
mod renewals;
mod rights;
mod router;
mod search;
mod service;
mod session;
mod share;
mod store_calls;
mod tasks;

pub use self::{
    limits::Limits,
    measure::describe as describe_metrics,
    origin::Peer,
    rights::{InvalidRights, Right, Rights},
    router::router,
    service::Service,
};
