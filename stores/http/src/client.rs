//! Locks and tasks behind a server: the provider, the store of tasks, and their requests.

mod admin;
mod answer;
mod events;
mod own;
mod provider;
mod server;
mod tasks;

pub use self::{
    answer::Unauthenticated,
    provider::HttpProvider,
    server::{InvalidServer, Server},
    tasks::HttpTasks,
};
