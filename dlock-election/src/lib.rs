//! Leader election over any store of dlock: one instance leads, work that belongs to the leader runs
//! only there, and a leader that is cut off stops *before* a rival can start.
//!
//! ```no_run
//! // no_run: needs a store, and this crate has none.
//! # async fn example(provider: impl dlock_core::Provider) -> Result<(), Box<dyn std::error::Error>> {
//! # async fn converge_the_pool() {}
//! # async fn stop_signal() {}
//! use std::time::Duration;
//! use dlock_core::Client;
//! use dlock_election::{Coordinator, Election};
//!
//! let client = Client::new(provider);
//! let election = Election::builder().provider(&client).name("background").build()?;
//! election.every("pool-convergence", Duration::from_secs(30), |_| converge_the_pool());
//! election.lead(|leadership| async move {
//!     let token = leadership.token();
//!     // Runs while this instance leads; dropped at its next await when it does not any more.
//!     # let _ = token;
//! });
//! election.run(Box::pin(stop_signal())).await?;
//! // Everything has been given back when this returns.
//! client.close().await;
//! # Ok(()) }
//! ```
//!
//! # What it promises, and what not
//! Leadership is a lease of `dlock-core`, with everything its protocol promises: the deadline counts
//! from before a request left, the clock is asked at every question, and a leader that hears nothing
//! steps down by itself a margin before anybody else can win. Work ends first, the release comes
//! last. What a lease cannot promise, an election cannot either: a process that was *paused* may act
//! for an instant on what it believed. Where that would be wrong rather than wasteful, hand
//! [`Leadership::token`] to the storage and let it refuse older ones.
//!
//! [`guide`] is the chapter on all of this: what is promised and what not, how to choose the times, how
//! long a failover takes, what it costs, when not to elect a leader, and the test behind each promise.
//!
//! # What is where
//! [`Election`] is the elector and [`AlwaysLeader`] its stand-in for one process without a store;
//! both are a [`Coordinator`]. [`Leadership`] is what work gets; [`Transitions`] tells operators what
//! happened, in order.

mod always;
mod announcer;
mod builder;
mod coordinator;
mod election;
mod elector;
#[doc = include_str!("../GUIDE.md")]
pub mod guide {}
mod jobs;
#[cfg_attr(not(feature = "metrics"), path = "label/silent.rs")]
mod label;
mod leader;
mod leadership;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg_attr(not(feature = "metrics"), path = "observe/silent.rs")]
mod observe;
mod periodic;
mod shared;
mod telling;
mod transition;

pub use self::{
    always::AlwaysLeader,
    builder::{ElectionBuilder, RECORD_DATA},
    coordinator::{Coordinator, RunError, Shutdown},
    election::Election,
    jobs::Work,
    leader::Leader,
    leadership::Leadership,
    transition::{Next, Reason, Transition, Transitions},
};
