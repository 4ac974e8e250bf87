//! The elector under each of its troubles, in virtual time, over a store in memory. Each backend's crate tests
//! elections over that backend.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

mod costs;
mod crowd;
mod failover;
mod fleet;
mod leading;
mod outages;
mod resigning;
mod riding_out;
mod support;
mod watched;
mod work;
