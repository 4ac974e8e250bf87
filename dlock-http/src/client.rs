//! Locks behind a server: the provider, and what it sends requests with.

mod admin;
mod events;
mod provider;
mod server;

pub use self::{
    provider::HttpProvider,
    server::{InvalidServer, Server},
};
