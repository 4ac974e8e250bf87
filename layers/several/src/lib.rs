#![doc = include_str!("../README.md")]

mod error;
mod joining;
mod multi;
mod semaphore;

pub use self::{
    error::BuildError,
    multi::{MultiGuard, MultiLock, TryHold},
    semaphore::{Permit, Semaphore},
};
