//! What needs no program of its own: each part of the proof is proved itself, and nothing is left unanswered.

mod always_ready;
mod cancelling;
mod cancelling_bites;
mod claims;
mod handing_over;
mod history;
mod reasons;
mod recorder;
mod two_runtimes;
