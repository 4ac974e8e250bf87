//! The programs run on every store, on real servers that the tests start, and print the expected lines.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test panics where it fails"
)]

mod arguments;
mod closing;
mod place;
mod programs;
mod recorder;
