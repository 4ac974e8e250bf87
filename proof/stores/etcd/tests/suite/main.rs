//! The provider for etcd on a real server: the published suites, and the cases that only etcd can cause for a lock.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

mod broken;
mod cancelling;
mod conformance;
mod election;
mod fence;
mod idle;
mod keys;
mod one_way;
#[path = "../../../open.rs"]
mod open;
mod outage;
mod rights;
mod tls;
mod wire;
