//! Processes that this program inherits as the first one of a container.
//!
//! The kernel gives a process whose parent has ended to process 1, which must wait for it: until then it stays a
//! zombie, and its number is taken.

#[cfg(any(target_os = "linux", target_os = "android"))]
use nix::{
    sys::wait::{Id, WaitPidFlag, waitid, waitpid},
    unistd::{Pid, getpid},
};

/// Reaps the processes that have ended, if this is process 1. Its own children are left to the code that waits for
/// them; while one of them has ended and was not waited for, the others wait as well.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn reap(own: &[i32]) {
    if getpid() != Pid::from_raw(1) {
        return;
    }
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    while let Ok(Some(ended)) = waitid(Id::All, look).map(|status| status.pid()) {
        if own.contains(&ended.as_raw()) || waitpid(ended, Some(WaitPidFlag::WNOHANG)).is_err() {
            return;
        }
    }
}

/// Containers run on Linux only.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) const fn reap(_own: &[i32]) {}
