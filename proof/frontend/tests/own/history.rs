//! Histories: written, judged, drawn, kept and checked again.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

mod checker;
mod command;
mod picture;
mod recording;
mod story;
