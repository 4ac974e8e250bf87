//! The DynamoDB store of dlock.

mod admin;
mod call;
mod error;
mod expression;
pub mod fence;
mod item;
mod key;
mod provider;
mod rules;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod wall;

// The helpers of `tests/` name this crate; its own tests use them too.
#[cfg(test)]
extern crate self as dlock_dynamodb;

pub use self::{
    error::{SettingsError, TableError},
    provider::{DynamoDbProvider, DynamoDbProviderBuilder},
};
