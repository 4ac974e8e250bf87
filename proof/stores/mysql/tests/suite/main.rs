//! The provider for MariaDB on a real server: the published suites, and what only this server can do to a lock.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

mod cancelling;
mod conformance;
mod election;
mod outage;
mod wire;
