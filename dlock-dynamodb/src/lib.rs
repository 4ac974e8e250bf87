#![doc = include_str!("../README.md")]

mod admin;
mod call;
mod clock;
mod error;
pub mod fence;
mod key;
mod provider;
mod record;
mod requests;
mod settings;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod walk;

// The helpers of `tests/` name this crate; its own tests use them too.
#[cfg(test)]
extern crate self as dlock_dynamodb;

pub use self::{
    error::{BuildError, TableError},
    provider::DynamodbProvider,
    settings::DynamodbProviderBuilder,
};
