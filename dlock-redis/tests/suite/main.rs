//! What only Redis can do to a lock, on real servers.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

#[path = "../support/mod.rs"]
mod support;

mod acknowledged;
mod broken;
mod cancelling;
mod clock;
mod cluster;
mod credentials;
mod evicting;
mod fence;
mod foreign;
mod forgotten;
mod life;
mod outage;
mod partition;
mod replica;
mod settings;
mod shards;
mod too_old;
mod wakeups;
mod wire;
