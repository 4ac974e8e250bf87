//! Histories: written, judged, kept and checked again.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

mod checker;
mod commits;
mod kept;
mod recording;
mod story;
