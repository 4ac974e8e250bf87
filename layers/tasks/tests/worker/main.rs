//! A worker with its tasks and its store, in memory and virtual time, with lost answers. Handlers that block a thread,
//! and instants of the wall clock, need real time.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod answers;
mod bad_input;
mod blocking;
mod drain;
mod faulty;
mod handlers;
mod leases;
mod log;
mod periodic;
mod stopping;
mod support;
mod suspects;
