#![doc = include_str!("../README.md")]

mod admin;
mod connections;
mod error;
pub mod fence;
mod provider;
mod record;
mod requests;
mod schema;
mod settings;
mod setup;

#[doc(no_inline)]
pub use mysql_async;

pub use self::{
    error::{BuildError, SchemaError},
    provider::MysqlProvider,
    settings::MysqlProviderBuilder,
};
