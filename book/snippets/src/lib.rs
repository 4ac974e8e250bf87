//! The book shows parts of these files, between lines `ANCHOR: name` and
//! `ANCHOR_END: name`. The tests next to them run each part on real stores, so a
//! reader sees code that has run.

pub mod fencing;
pub mod leases;
pub mod moving;
pub mod patterns;
pub mod start;
pub mod stores;

/// For programs that only pass errors on.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
