//! Opens the store of dlock that a URL names, or a queue of tasks in it: the common part of the programs of this
//! workspace.
//!
//! `location.rs` has the list of the kinds of stores, and each has a feature of its name. SQLite, Postgres and servers
//! have queues, too.
//!
//! Owns everything that the backends leave to their users: the form of such URLs and their settings, passwords from the
//! environment and from files, TLS, making what a store needs before use, and messages to people when it can't be used.
//! Leaves arguments, exit codes and output to the program.
//!
//! Libraries of this workspace leave TLS and credentials to their users; this one is made for programs, and decides:
//! rustls with ring for all stores, which takes no C compiler beyond what ring needs and no system library, and the
//! certificates of the system (`rustls-native-certs`), since the owner of a private authority has installed it on the
//! machine and not in this crate.
//!
//! Texts about a store, errors included, never contain a password: they show a location by its parts, never as it was
//! written, and do not repeat a text that can't be read as a location.

mod backend;
mod diagnosis;
mod encryption;
mod error;
mod location;
mod observations;
mod program;
mod queue;
mod store;
mod tables;
pub mod text;

pub use self::{
    encryption::Encryption,
    error::StoreError,
    location::{Location, all_forms, locate, locate_queue, settings},
    observations::ObservationFolder,
    program::Program,
    queue::Queue,
    store::Store,
};

#[cfg(test)]
mod tests;
