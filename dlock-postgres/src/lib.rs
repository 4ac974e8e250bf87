#![doc = include_str!("../README.md")]
//!
//! [`Client`]: dlock_core::Client
//! [`Discipline::StoreClock`]: dlock_core::Discipline::StoreClock
//! [`create_schema`]: PostgresProvider::create_schema
//! [`listen`]: PostgresProviderBuilder::listen
//! [`notify`]: PostgresProviderBuilder::notify
//! [`obstacle`]: PostgresProvider::obstacle
//! [`prepared`]: PostgresProviderBuilder::prepared
//! [`purge`]: dlock_core::Admin::purge
//! [`read`]: dlock_core::Provider::read
//! [`renew_many`]: dlock_core::Provider::renew_many
//! [`schema_sql`]: PostgresProvider::schema_sql
//! [`call_timeout`]: PostgresProviderBuilder::call_timeout
//! [`verify_schema`]: PostgresProvider::verify_schema

mod admin;
mod connections;
mod error;
pub mod fence;
mod obstacle;
mod provider;
mod record;
mod requests;
mod schema;
mod settings;
mod setup;
mod wakeups;

pub use deadpool_postgres;

pub use self::{
    error::{BuildError, SchemaError},
    obstacle::Obstacle,
    provider::PostgresProvider,
    settings::PostgresProviderBuilder,
};
