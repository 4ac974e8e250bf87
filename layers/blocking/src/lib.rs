#![doc = include_str!("../README.md")]

mod held;
mod lock;
mod runtime;

pub use self::{
    held::{Guard, Lease},
    lock::{DLock, Redeem, TryAcquire},
    runtime::Runtime,
};
