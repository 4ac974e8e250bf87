//! The promises of this store beyond the conformance suite: one file, many processes, and
//! everything that can be wrong with a file. Each module has one property or a small group of them.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test panics where it fails"
)]

mod admin;
mod batch;
mod boot;
mod cancelling;
mod contention;
mod fence;
mod mounts;
mod moved;
mod nonsense;
mod open;
mod permission;
mod prefix;
mod processes;
mod shares;
mod support;
mod time_namespaces;
mod turns;
mod wakeups;
