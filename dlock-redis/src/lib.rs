//! Locks in Redis or Valkey.

mod admin;
mod connection;
mod error;
pub mod fence;
mod key;
mod link;
mod provider;
mod replicas;
mod reply;
mod scripts;

pub use self::{
    error::{BuildError, Unacknowledged},
    provider::{RedisProvider, RedisProviderBuilder},
};
