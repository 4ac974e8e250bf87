#![doc = include_str!("../README.md")]

mod error;
mod multi;
mod semaphore;
mod together;

pub use self::{
    error::BuildError,
    multi::{MultiGuard, MultiLock, TryHold},
    semaphore::{Permit, Semaphore},
};
