//! What people write: the lock and its builder, leases, guards, fences.

mod builder;
mod fence;
mod guard;
mod lease;
mod lock;
mod scope;
mod watch;

pub use self::{
    builder::DLockBuilder,
    fence::{Fence, FenceError, Stale},
    guard::Guard,
    lease::Lease,
    lock::{DLock, TryAcquire},
    watch::LeaseWatch,
};
