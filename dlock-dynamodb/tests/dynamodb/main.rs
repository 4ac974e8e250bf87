//! The provider for DynamoDB against a compatible server: the published suites, and the effects on a lock that only
//! this store has.

mod acceptance;
mod admin;
mod batch;
mod cancelling;
mod capacity;
#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod conformance_no_return;
mod conformance_sort_key;
mod crowd;
mod election;
mod errors;
mod fence;
mod outage;
mod rights;
mod rows;
mod table;
mod tls;
mod wire;
mod wire_conformance;
