#![doc = include_str!("../README.md")]

mod admin;
mod cluster;
mod connection;
mod error;
pub mod fence;
mod invoke;
mod key;
mod provider;
mod record;
mod replicas;
mod requests;
mod scripts;
mod servers;
mod settings;
mod slots;
mod wakeups;

#[doc(no_inline)]
pub use redis;

pub use self::{
    error::{BuildError, Unacknowledged},
    provider::RedisProvider,
    settings::RedisProviderBuilder,
    wakeups::Channels,
};
