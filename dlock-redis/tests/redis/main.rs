//! The provider for Redis on real servers: the published suites, and the effects on a lock that only
//! Redis has.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

mod acknowledged;
mod broken;
mod cancelling;
mod clock;
mod cluster;
mod conformance;
mod conformance_acknowledged;
mod conformance_cluster;
mod conformance_wakeups;
mod credentials;
mod election;
mod evicting;
mod failover;
mod fence;
mod foreign;
mod forgotten;
mod life;
mod outage;
mod partition;
mod promotion;
mod replica;
mod rights;
mod sentinel;
mod settings;
mod shards;
#[path = "../support/mod.rs"]
mod support;
mod tls;
mod too_old;
mod wakeups;
mod wire;
mod wire_conformance;
