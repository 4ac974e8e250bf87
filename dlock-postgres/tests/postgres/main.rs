//! The conformance suite, directly and through a pooler; then what only PostgreSQL can do to a lock,
//! and what only this provider promises. One subject a file.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test panics where it fails"
)]

mod batch;
mod cancelling;
mod channel;
mod conformance;
mod conformance_strict;
mod connections;
mod durability;
mod election;
mod failover;
mod fence;
mod hearing;
mod hostile;
mod listening;
mod locked_table;
mod outage;
mod partition;
mod pooler;
mod prepared;
mod races;
mod refusals;
mod rights;
mod rows;
mod schema;
mod sessions;
mod settings;
mod support;
mod telling;
mod tls;
mod waits;
mod wakeups;
mod wal;
mod wire;
mod wire_conformance;
