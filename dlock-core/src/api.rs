//! What people write: the lock and its builder, leases, guards, fences.

mod adopt;
mod builder;
mod fence;
mod guard;
mod lease;
mod lock;
mod multi;
mod scope;
mod semaphore;
mod together;
mod watch;

pub use self::{
    adopt::{Grant, Sent},
    builder::DLockBuilder,
    fence::{Fence, FenceError, Stale},
    guard::Guard,
    lease::Lease,
    lock::{DLock, TryAcquire},
    multi::{MultiGuard, MultiLock, TryHold},
    semaphore::{Permit, Semaphore},
    watch::LeaseWatch,
};
