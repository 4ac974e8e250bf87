//! What a worker does with its tasks and its store, on SQLite in real time, with answers that are lost.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod answers;
mod bad_input;
mod blocking;
mod drain;
mod faulty;
mod handlers;
mod leases;
mod periodic;
mod stopping;
mod support;
