//! Tests that need no separate program: each part of the proof is itself proved, and no call is left unanswered.

mod always_ready;
mod cancelling;
mod cancelling_bites;
mod claims;
mod handing_over;
mod history;
mod reasons;
mod recorder;
mod two_runtimes;
