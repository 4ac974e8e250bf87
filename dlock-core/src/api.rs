//! The API that programs use: the lock and its builder, leases, guards, fences.

mod adopt;
mod builder;
mod fence;
mod guard;
mod lease;
mod lock;
mod redeem;
pub mod scope;

pub use self::{
    adopt::{Grant, Sent},
    builder::DLockBuilder,
    fence::{Fence, FenceError, Stale},
    guard::Guard,
    lease::Lease,
    lock::{DLock, TryAcquire},
    redeem::Redeem,
};
