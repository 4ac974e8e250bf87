#![doc = include_str!("../README.md")]
#![expect(
    clippy::exhaustive_structs,
    clippy::exhaustive_enums,
    reason = "these are the shapes of version 1 of the interface: servers and clients write them out"
)]

#[cfg(feature = "client")]
mod client;
pub mod leases;
mod problem;
mod pseudonym;
mod record;
pub mod session;
pub mod tasks;
mod text;

#[cfg(feature = "client")]
pub use self::client::{HttpProvider, HttpTasks, InvalidServer, Server, Unauthenticated};
pub use self::{
    problem::{Code, Problem},
    pseudonym::pseudonym,
    text::{Base64, Millis, Time, is_namespace},
};
