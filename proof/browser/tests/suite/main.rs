//! The dashboard, as people with a browser use it: Debian's headless Chromium and its own driver, in front of
//! a separate server for each test. Both are gone after the test.

#![cfg(unix)]
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a panic is how a test says what is wrong"
)]

mod access;
mod browser;
mod elections;
mod focus;
mod history;
mod hostile;
mod keyboard;
mod leases;
mod log_in;
mod looks;
mod outage;
mod page;
mod server;
mod stream;
mod tasks;
