#![doc = include_str!("../README.md")]
//!
//! [`Admin::purge`]: dlock_core::provider::Admin::purge
//! [`Discipline::StoreClock`]: dlock_core::provider::Discipline::StoreClock
//! [`Fatal`]: dlock_core::ErrorKind::Fatal
//! [`danger_accept_any_file_system`]: SqliteProviderBuilder::danger_accept_any_file_system

mod admin;
mod boot;
mod clock;
mod error;
pub mod fence;
mod files;
mod key;
mod open;
mod place;
mod provider;
mod record;
mod requests;
mod settings;
mod store;
mod synchronous;
#[cfg(test)]
mod tests;
mod wakeups;
mod worker;

pub use rusqlite;

pub use self::{
    error::OpenError, provider::SqliteProvider, settings::SqliteProviderBuilder,
    synchronous::Synchronous,
};
