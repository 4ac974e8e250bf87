#![doc = include_str!("../README.md")]

mod admin;
mod connections;
mod diagnosis;
mod error;
pub mod fence;
mod prepared;
mod provider;
mod record;
mod requests;
mod schema;
mod session;
mod settings;
mod setup;
#[cfg(feature = "tasks")]
pub mod tasks;
mod wakeups;

#[doc(no_inline)]
pub use deadpool_postgres;

pub use self::{
    diagnosis::Diagnosis,
    error::{BuildError, SchemaError},
    provider::PostgresProvider,
    settings::PostgresProviderBuilder,
};
