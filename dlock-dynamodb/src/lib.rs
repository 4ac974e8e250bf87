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
mod wall;

pub use self::{
    error::{SettingsError, TableError},
    provider::{DynamoDbProvider, DynamoDbProviderBuilder},
};
