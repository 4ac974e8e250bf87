//! A store in memory under the published suites, whole and with faults; the requests that reach a store for each call;
//! and wrong stores, which must be noticed.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

mod conformance;
mod contents;
mod doubt;
mod faulty;
mod foreign;
mod requests;
#[path = "../../examples/memory/store.rs"]
mod store;
mod support;
mod wire;
mod wrong;
