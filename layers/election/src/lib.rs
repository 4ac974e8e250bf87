//! Leader election over any store of dlock: one instance leads, the leader's work runs only there, and a leader that is
//! cut off stops *before* a rival can start.
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
//!     // Runs while this instance leads; dropped at its next await when it no longer does.
//!     # let _ = token;
//! });
//! election.run(Box::pin(stop_signal())).await?;
//! // When this returns, the leadership has been released.
//! client.close().await;
//! # Ok(()) }
//! ```
//!
//! # Promises and limits
//! Leadership is a lease of `dlock-core`, with everything its protocol promises: the deadline counts from before a
//! request left, every check reads the clock, and a leader that gets no answer steps down automatically, one margin
//! before another instance can win. Work ends first, the release comes last. An election cannot promise more than a
//! lease: a process that was *paused* may act for an instant on a leadership that it has lost. If that would be wrong
//! rather than wasteful, pass [`Leadership::token`] to the storage and let it refuse older ones.
//!
//! [`guide`] is the chapter on all of this: the promises and their limits, how to choose the times, how long a failover
//! takes, what an election costs, when not to elect a leader, and the test behind each promise.
//!
//! # Overview
//! [`Election`] is the elector and [`AlwaysLeader`] its stand-in for one process without a store;
//! both are a [`Coordinator`]. [`Leadership`] is passed to work; [`Transitions`] reports to operators what happened, in
//! order.

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
mod subscriber;
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
