//! Tests that need no separate program: each part of the proof is itself proved, and no call is left unanswered.

mod cancelling;
mod cancelling_bites;
mod claims;
mod history;
