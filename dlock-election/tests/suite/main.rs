//! The elector under each of its troubles, in virtual time, over a store in memory. What each backend
//! makes of it is tested in that backend's crate.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

mod acceptance;
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
