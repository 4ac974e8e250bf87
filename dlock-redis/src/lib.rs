#![doc = include_str!("../README.md")]
//!
//! [`Discipline::StoreClock`]: dlock_core::provider::Discipline::StoreClock
//! [`acknowledged_by`]: RedisProviderBuilder::acknowledged_by
//! [`call_timeout`]: RedisProviderBuilder::call_timeout
//! [`client`]: RedisProviderBuilder::client
//! [`connection`]: RedisProviderBuilder::connection
//! [`wakeups`]: RedisProviderBuilder::wakeups

mod admin;
mod cluster;
mod connection;
mod error;
pub mod fence;
mod key;
mod link;
mod provider;
mod record;
mod replicas;
mod requests;
mod scripts;
mod settings;
mod slots;
mod wakeups;

pub use redis;

pub use self::{
    error::{BuildError, Unacknowledged},
    provider::RedisProvider,
    settings::RedisProviderBuilder,
    wakeups::Channels,
};
