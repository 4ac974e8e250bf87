//! The provider for MariaDB on a real server: the published suites, and the cases that only this server can cause for a
//! lock.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

mod broken;
mod cancelling;
mod conformance;
mod connections;
mod election;
mod failover;
mod fence;
mod locked_row;
#[path = "../../../open.rs"]
mod open;
mod outage;
mod races;
mod rights;
mod rows;
mod schema;
mod sessions;
mod support;
mod tls;
mod url;
mod wire;
