//! The conformance suite, directly and through a pooler; then the effects on a lock that only
//! PostgreSQL has, and the promises of only this provider. One subject per file.

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
