#![doc = include_str!("../README.md")]

mod admin;
mod boot_id;
mod clock;
mod error;
pub mod fence;
mod file_system;
mod files;
mod gate;
mod key;
mod open;
mod provider;
mod record;
mod requests;
mod settings;
mod store;
mod synchronous;
#[cfg(feature = "tasks")]
pub mod tasks;
#[cfg(test)]
mod tests;
mod wakeups;
mod worker;

#[doc(no_inline)]
pub use rusqlite;

pub use self::{
    error::OpenError, provider::SqliteProvider, settings::SqliteProviderBuilder,
    synchronous::Synchronous,
};
