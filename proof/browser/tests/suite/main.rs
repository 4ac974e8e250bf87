//! The dashboard, as people with a browser meet it: Debian's Chromium without a window, driven by its own driver, before
//! a server of each test's own. Both are gone after the test.

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
