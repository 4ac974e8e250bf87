//! The provider for Kubernetes on a real server: the published suites, and the cases that only Kubernetes can cause for
//! a lock.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

mod broken;
mod cancelling;
mod conformance;
mod election;
mod examples;
mod fence;
mod leases;
#[path = "../../../open.rs"]
mod open;
mod outage;
mod rights;
mod tls;
mod unsealed;
mod url;
mod wire;
